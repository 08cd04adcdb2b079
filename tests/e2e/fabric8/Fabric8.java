// SPDX-License-Identifier: Apache-2.0

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceBuilder;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElector;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.io.File;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * fabric8's client as a tenant's administrator, by its defaults. Usage: Fabric8.java KUBECONFIG. Says what fails and ends with
 * 1; a step that hangs is a failure after PATIENCE seconds.
 */
public class Fabric8 {
  static final int PATIENCE = 60;
  static final String SPACE = "default";
  final KubernetesClient client;

  Fabric8(KubernetesClient client) {
    this.client = client;
  }

  interface Step {
    void run() throws Exception;
  }

  public static void main(String[] arguments) {
    int failures = 0;
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(Config.fromKubeconfig(new File(arguments[0]))).build()) {
      Fabric8 test = new Fabric8(client);
      Map<String, Step> steps = new java.util.LinkedHashMap<>();
      steps.put("objects are written, patched, applied and deleted", test::objects);
      steps.put("a watch hears what happens", test::watch);
      steps.put("a watch from a version that was seen goes on from it", test::watchFromVersion);
      steps.put("a watch of what may not be watched ends with its error", test::refusedWatch);
      steps.put("informers follow, in all namespaces too", test::informers);
      steps.put("custom resources are written, watched and followed", test::customResources);
      steps.put("a deployment gets ready, and its pods are waited for", test::deployment);
      steps.put("a lease elects a leader", test::leader);
      for (Map.Entry<String, Step> step : steps.entrySet()) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
          try {
            step.getValue().run();
            done.complete(null);
          } catch (Throwable error) {
            done.completeExceptionally(error);
          }
        });
        thread.setDaemon(true);
        thread.start();
        try {
          done.get(2 * PATIENCE, TimeUnit.SECONDS);
          System.out.println("    " + step.getKey());
        } catch (Exception error) {
          ++failures;
          System.out.println("NOT " + step.getKey());
          error.printStackTrace(System.out);
          for (StackTraceElement where : thread.getStackTrace()) {
            System.out.println("      at " + where);
          }
        }
      }
    }
    System.exit(failures == 0 ? 0 : 1);
  }

  static void expect(Object wanted, Object got) {
    if (!wanted.equals(got)) {
      throw new AssertionError("wanted " + wanted + ", got " + got);
    }
  }

  static void eventually(String what, BooleanSupplier holds) throws InterruptedException {
    for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE); !holds.getAsBoolean(); Thread.sleep(20)) {
      if (System.nanoTime() > end) {
        throw new AssertionError("not within " + PATIENCE + " s: " + what);
      }
    }
  }

  /** What a watch hears, as "ACTION name". */
  static class Heard<T extends HasMetadata> implements Watcher<T> {
    final BlockingQueue<String> events = new LinkedBlockingQueue<>();
    final CompletableFuture<Void> closed = new CompletableFuture<>();

    @Override
    public void eventReceived(Action action, T object) {
      events.add(action + " " + object.getMetadata().getName());
    }

    @Override
    public void onClose() {
      closed.complete(null);
    }

    @Override
    public void onClose(WatcherException cause) {
      closed.completeExceptionally(cause);
    }

    void next(String wanted) throws InterruptedException {
      String got = events.poll(PATIENCE, TimeUnit.SECONDS);
      expect(wanted, got == null ? "nothing" : got);
    }
  }

  static ConfigMap configMap(String name, String value) {
    return new ConfigMapBuilder().withNewMetadata().withName(name).withNamespace(SPACE).addToLabels("of", name).endMetadata()
        .addToData("k", value).build();
  }

  String value(String name) {
    return client.configMaps().inNamespace(SPACE).withName(name).get().getData().get("k");
  }

  void objects() {
    client.resource(configMap("own", "1")).create();
    expect("1", value("own"));
    client.configMaps().inNamespace(SPACE).withName("own").edit(it -> new ConfigMapBuilder(it).addToData("k", "2").build());
    expect("2", value("own"));
    client.configMaps().inNamespace(SPACE).withName("own").patch(PatchContext.of(PatchType.JSON_MERGE), "{\"data\":{\"k\":\"3\"}}");
    expect("3", value("own"));
    client.configMaps().inNamespace(SPACE).withName("own").patch(PatchContext.of(PatchType.JSON),
        "[{\"op\":\"replace\",\"path\":\"/data/k\",\"value\":\"4\"}]");
    expect("4", value("own"));
    ConfigMap applied = configMap("own", "5");
    client.resource(applied).fieldManager("fabric8-test").forceConflicts().serverSideApply();
    expect("5", value("own"));
    expect(1, client.configMaps().inNamespace(SPACE).withLabel("of", "own").list().getItems().size());
    expect(SPACE, client.configMaps().inAnyNamespace().withLabel("of", "own").list().getItems().get(0).getMetadata().getNamespace());
    client.resource(new NamespaceBuilder().withNewMetadata().withName("of-fabric8").endMetadata().build()).create();
    expect("of-fabric8", client.namespaces().withName("of-fabric8").get().getMetadata().getName());
    client.configMaps().inNamespace(SPACE).withName("own").delete();
    expect(true, client.configMaps().inNamespace(SPACE).withName("own").get() == null);
  }

  void watch() throws Exception {
    Heard<ConfigMap> one = new Heard<>();
    Heard<ConfigMap> all = new Heard<>();
    try (Watch first = client.configMaps().inNamespace(SPACE).withName("watched").watch(one);
        Watch second = client.configMaps().inAnyNamespace().withLabel("of", "watched").watch(all)) {
      client.resource(configMap("watched", "1")).create();
      client.configMaps().inNamespace(SPACE).withName("watched").edit(it -> new ConfigMapBuilder(it).addToData("k", "x".repeat(200_000)).build());
      client.configMaps().inNamespace(SPACE).withName("watched").delete();
      for (Heard<ConfigMap> heard : List.of(one, all)) {
        heard.next("ADDED watched");
        heard.next("MODIFIED watched");
        heard.next("DELETED watched");
      }
    }
    one.closed.get(PATIENCE, TimeUnit.SECONDS);
    all.closed.get(PATIENCE, TimeUnit.SECONDS);
  }

  void watchFromVersion() throws Exception {
    ConfigMap made = client.resource(configMap("version", "1")).create();
    client.configMaps().inNamespace(SPACE).withName("version").edit(it -> new ConfigMapBuilder(it).addToData("k", "2").build());
    Heard<ConfigMap> heard = new Heard<>();
    try (Watch watch = client.configMaps().inNamespace(SPACE).withName("version").withResourceVersion(made.getMetadata().getResourceVersion()).watch(heard)) {
      heard.next("MODIFIED version");
    }
    client.resource(made).delete();
  }

  void refusedWatch() {
    ResourceDefinitionContext nothing = new ResourceDefinitionContext.Builder().withGroup("none.example.org").withVersion("v1").withKind("Nothing")
        .withPlural("nothings").withNamespaced(true).build();
    try (Watch watch = client.genericKubernetesResources(nothing).inNamespace(SPACE).watch(new Heard<>())) {
      throw new AssertionError("a watch of no kind began");
    } catch (KubernetesClientException error) {
      expect(404, error.getCode());
    }
  }

  void informers() throws Exception {
    SharedIndexInformer<ConfigMap> own = client.configMaps().inNamespace(SPACE).withLabel("of", "followed").inform();
    SharedIndexInformer<ConfigMap> every = client.configMaps().inAnyNamespace().inform();
    try {
      eventually("synced", () -> own.hasSynced() && every.hasSynced());
      for (int round = 0; round < 3; ++round) {
        String value = "v" + round;
        client.resource(configMap("followed", value)).create();
        for (SharedIndexInformer<ConfigMap> informer : List.of(own, every)) {
          eventually("made", () -> informer.getIndexer().getByKey(SPACE + "/followed") != null);
        }
        client.configMaps().inNamespace(SPACE).withName("followed").edit(it -> new ConfigMapBuilder(it).addToData("k", value + "x").build());
        for (SharedIndexInformer<ConfigMap> informer : List.of(own, every)) {
          eventually("changed", () -> informer.getIndexer().getByKey(SPACE + "/followed").getData().get("k").equals(value + "x"));
        }
        client.configMaps().inNamespace(SPACE).withName("followed").delete();
        for (SharedIndexInformer<ConfigMap> informer : List.of(own, every)) {
          eventually("gone", () -> informer.getIndexer().getByKey(SPACE + "/followed") == null);
        }
      }
      expect(true, own.isWatching() && every.isWatching());
    } finally {
      own.stop();
      every.stop();
    }
  }

  void customResources() throws Exception {
    client.load(new java.io.ByteArrayInputStream(DEFINITION.getBytes(java.nio.charset.StandardCharsets.UTF_8))).serverSideApply();
    eventually("served", () -> {
      try {
        return client.genericKubernetesResources("harbour.example.org/v1", "Boat").inNamespace(SPACE).list() != null;
      } catch (KubernetesClientException notYet) {
        return false;
      }
    });
    var boats = client.genericKubernetesResources("harbour.example.org/v1", "Boat").inNamespace(SPACE);
    Heard<GenericKubernetesResource> heard = new Heard<>();
    SharedIndexInformer<GenericKubernetesResource> informer = boats.inform();
    try (Watch watch = boats.watch(heard)) {
      eventually("synced", informer::hasSynced);
      GenericKubernetesResource boat = new GenericKubernetesResourceBuilder().withApiVersion("harbour.example.org/v1").withKind("Boat")
          .withNewMetadata().withName("ketch").withNamespace(SPACE).endMetadata().addToAdditionalProperties("spec", Map.of("length", 9)).build();
      boats.resource(boat).create();
      heard.next("ADDED ketch");
      boats.withName("ketch").edit(it -> {
        it.setAdditionalProperty("spec", Map.of("length", 10));
        return it;
      });
      heard.next("MODIFIED ketch");
      eventually("followed", () -> {
        GenericKubernetesResource known = informer.getIndexer().getByKey(SPACE + "/ketch");
        return known != null && Integer.valueOf(10).equals(known.get("spec", "length"));
      });
      expect("harbour.example.org/v1", informer.getIndexer().getByKey(SPACE + "/ketch").getApiVersion());
      boats.withName("ketch").delete();
      heard.next("DELETED ketch");
    } finally {
      informer.stop();
    }
  }

  void deployment() {
    Deployment deployment = new DeploymentBuilder().withNewMetadata().withName("web").withNamespace(SPACE).endMetadata().withNewSpec().withReplicas(2)
        .withNewSelector().addToMatchLabels("app", "web").endSelector().withNewTemplate().withNewMetadata().addToLabels("app", "web").endMetadata()
        .withNewSpec().addNewContainer().withName("c").withImage("none.test/c").endContainer().endSpec().endTemplate().endSpec().build();
    client.resource(deployment).create();
    client.apps().deployments().inNamespace(SPACE).withName("web").waitUntilReady(PATIENCE, TimeUnit.SECONDS);
    List<Pod> pods = client.pods().inNamespace(SPACE).withLabel("app", "web").list().getItems();
    expect(2, pods.size());
    client.pods().inNamespace(SPACE).withName(pods.get(0).getMetadata().getName()).waitUntilReady(PATIENCE, TimeUnit.SECONDS);
    client.apps().deployments().inNamespace(SPACE).withName("web").delete();
  }

  void leader() throws Exception {
    CompletableFuture<Void> leads = new CompletableFuture<>();
    CompletableFuture<Void> stopped = new CompletableFuture<>();
    LeaderElector elector = client.leaderElector().withConfig(new LeaderElectionConfigBuilder().withName("test").withLock(new LeaseLock(SPACE, "leader", "me"))
        .withLeaseDuration(Duration.ofSeconds(10)).withRenewDeadline(Duration.ofSeconds(8)).withRetryPeriod(Duration.ofSeconds(1)).withReleaseOnCancel()
        .withLeaderCallbacks(new LeaderCallbacks(() -> leads.complete(null), () -> stopped.complete(null), name -> { })).build()).build();
    CompletableFuture<?> runs = elector.start();
    leads.get(PATIENCE, TimeUnit.SECONDS);
    expect("me", client.leases().inNamespace(SPACE).withName("leader").get().getSpec().getHolderIdentity());
    runs.cancel(true);
    stopped.get(PATIENCE, TimeUnit.SECONDS);
  }

  static final String DEFINITION = """
      apiVersion: apiextensions.k8s.io/v1
      kind: CustomResourceDefinition
      metadata: {name: boats.harbour.example.org}
      spec:
        group: harbour.example.org
        scope: Namespaced
        names: {plural: boats, singular: boat, kind: Boat, listKind: BoatList}
        versions:
        - name: v1
          served: true
          storage: true
          schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {length: {type: integer}}}}}}
      """;
}
