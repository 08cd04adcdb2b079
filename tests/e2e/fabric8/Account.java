// SPDX-License-Identifier: Apache-2.0

import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Namespace;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.io.File;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * fabric8's client as an ordinary user of the upstream, at the account door. Usage: Account.java KUBECONFIG ACCOUNT PREFIX: he is
 * the only member of the account and has no space yet. Says what fails and ends with 1.
 */
public class Account {
  static final int PATIENCE = 60;

  public static void main(String[] arguments) throws Exception {
    String account = arguments[1];
    String one = arguments[2] + "-one";
    String two = arguments[2] + "-two";
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(Config.fromKubeconfig(new File(arguments[0]))).build()) {
      ResourceDefinitionContext spaces = new ResourceDefinitionContext.Builder().withGroup("tenancy.kiosk.sh").withVersion("v1alpha1")
          .withKind("Space").withPlural("spaces").withNamespaced(false).build();
      SharedIndexInformer<Namespace> namespaces = client.namespaces().inform();
      SharedIndexInformer<GenericKubernetesResource> views = client.genericKubernetesResources(spaces).inform();

      Namespace made = client.resource(new NamespaceBuilder().withNewMetadata().withName(one).endMetadata().build()).create();
      expect(account, made.getMetadata().getLabels().get("kiosk.sh/account"));
      GenericKubernetesResource space = new GenericKubernetesResource();
      space.setApiVersion("tenancy.kiosk.sh/v1alpha1");
      space.setKind("Space");
      space.setMetadata(new NamespaceBuilder().withNewMetadata().withName(two).endMetadata().build().getMetadata());
      client.genericKubernetesResources(spaces).resource(space).create();
      eventually("the informer has both namespaces", () -> names(namespaces.getStore().list()).equals(List.of(one, two)));
      eventually("and the one of spaces", () -> names(views.getStore().list()).equals(List.of(one, two)));
      expect(List.of(one, two), names(client.namespaces().list().getItems()));
      expect(null, client.namespaces().withName("kube-system").get());

      for (String name : List.of(one, two)) {
        client.configMaps().inNamespace(name)
            .resource(new ConfigMapBuilder().withNewMetadata().withName("here").endMetadata().addToData("a", "b").build()).create();
      }
      expect(2, client.configMaps().inAnyNamespace().withField("metadata.name", "here").list().getItems().size());

      client.genericKubernetesResources(spaces).withName(one).edit(s -> {
        Map<String, String> labels = new HashMap<>();
        if (s.getMetadata().getLabels() != null) {
          labels.putAll(s.getMetadata().getLabels());
        }
        labels.put("mine", "yes");
        s.getMetadata().setLabels(labels);
        return s;
      });
      eventually("a label is heard of", () -> "yes".equals(label(namespaces.getStore().getByKey(one))));
      client.namespaces().withName(one).delete();
      client.genericKubernetesResources(spaces).withName(two).delete();
      eventually("what is deleted goes", () -> namespaces.getStore().list().isEmpty() && views.getStore().list().isEmpty());
    }
    System.exit(0);
  }

  static String label(Namespace namespace) {
    return namespace == null || namespace.getMetadata().getLabels() == null ? null : namespace.getMetadata().getLabels().get("mine");
  }

  static List<String> names(Collection<? extends HasMetadata> objects) {
    return objects.stream().map(o -> o.getMetadata().getName()).sorted().toList();
  }

  static void expect(Object wanted, Object got) {
    if (wanted == null ? got != null : !wanted.equals(got)) {
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
}
