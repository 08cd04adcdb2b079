// SPDX-License-Identifier: Apache-2.0

// Command volumes provisions PersistentVolumes for the StorageClasses of the provisioner zoo.test/local: each volume is
// a folder of the machine, which is created here and used on the node that the scheduler has chosen for the claim's pod.
// The folder is removed with its volume.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const name = "zoo.test/local"

type folders struct{ root string }

func (f folders) Provision(_ context.Context, options controller.ProvisionOptions) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	if options.SelectedNodeName == "" {
		return nil, controller.ProvisioningFinished, fmt.Errorf("the StorageClass must have volumeBindingMode WaitForFirstConsumer")
	}
	path := filepath.Join(f.root, options.PVName)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	// MkdirAll heeds the umask; any user of a container may write here.
	if err := os.Chmod(path, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	filesystem := v1.PersistentVolumeFilesystem
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			VolumeMode:                    &filesystem,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: options.PVC.Spec.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeSource:        v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: path}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{options.SelectedNodeName}}},
			}}}},
		},
	}, controller.ProvisioningFinished, nil
}

func (f folders) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	return os.RemoveAll(filepath.Join(f.root, filepath.Base(volume.Name)))
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server; needed")
	root := flag.String("root", "", "folder in which volumes are created; needed")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if !filepath.IsAbs(*root) {
		klog.Exitf("--root must be an absolute path, not %q", *root)
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		klog.Exitf("--kubeconfig %s: %v", *kubeconfig, err)
	}
	controller.NewProvisionController(ctx, kubernetes.NewForConfigOrDie(config), name, folders{*root}, controller.LeaderElection(false)).Run(ctx)
}
