package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/fluxcd/pkg/envsubst"
	generator "github.com/fluxcd/pkg/kustomize"
	securefs "github.com/fluxcd/pkg/kustomize/filesys"
	"github.com/otiai10/copy"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
)

func substitute(job Job) (string, error) {
	return envsubst.Eval(job.Text, func(name string) (string, bool) {
		value, found := job.Vars[name]
		return value, found || !job.Strict
	})
}

// Flux writes into what it builds, so it gets a copy, one per root.
type workshop struct {
	sync.Mutex
	dir string
	err error
}

var (
	workshops = map[string]*workshop{}
	register  sync.Mutex
)

func workshopFor(root string) (*workshop, error) {
	register.Lock()
	shop, found := workshops[root]
	if !found {
		shop = &workshop{}
		workshops[root] = shop
	}
	shop.Lock()
	register.Unlock()
	if shop.dir == "" && shop.err == nil {
		shop.dir, shop.err = os.MkdirTemp("", "oracle-")
		if shop.err == nil {
			shop.dir, shop.err = filepath.EvalSymlinks(shop.dir)
		}
		if shop.err == nil {
			shop.err = copy.Copy(root, shop.dir, copy.Options{
				Skip: func(info os.FileInfo, _, _ string) (bool, error) { return info.Name() == ".git", nil },
			})
		}
	}
	if shop.err != nil {
		shop.Unlock()
		return nil, shop.err
	}
	return shop, nil
}

func cleanUp() {
	for _, shop := range workshops {
		if shop.dir != "" {
			_ = os.RemoveAll(shop.dir)
		}
	}
}

// What kustomize-controller does between the artifact and the apply, without decryption.
func flux(job Job) (text string, err error) {
	shop, err := workshopFor(job.Root)
	if err != nil {
		return "", err
	}
	defer shop.Unlock()
	object := unstructured.Unstructured{Object: job.Kustomization}
	path := job.Dir
	if path == "" {
		path, _, _ = unstructured.NestedString(job.Kustomization, "spec", "path")
	}
	dir := filepath.Join(shop.dir, path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("kustomization path not found: %s", path)
	}
	action, err := generator.NewGenerator(shop.dir, object).WriteFile(dir, generator.WithSaveOriginalKustomization())
	if err != nil {
		return "", err
	}
	defer func() {
		if cleaned := generator.CleanDirectory(dir, action); err == nil {
			err = cleaned
		}
	}()
	resources, err := secureBuild(shop.dir, dir)
	if err != nil {
		return "", fmt.Errorf("kustomize build failed: %w", err)
	}
	postBuild, substitutes, _ := unstructured.NestedMap(job.Kustomization, "spec", "postBuild")
	for _, resource := range resources.Resources() {
		if resource.GetName() == "" || resource.GetKind() == "" || resource.GetApiVersion() == "" {
			return "", fmt.Errorf("failed to decode Kubernetes apiVersion, kind and name from: %v", resource.String())
		}
		if !substitutes {
			continue
		}
		replaced, err := generator.SubstituteVariables(context.Background(), cluster{objects: job.Objects}, object, resource,
			generator.SubstituteWithStrict(job.Strict),
			generator.SubstituteWithAlways(postBuild["substituteStrategy"] == "Always"))
		if err != nil {
			return "", fmt.Errorf("post build failed for '%s/%s': %w", resource.GetGvk(), resource.GetName(), err)
		}
		if replaced != nil {
			if _, err := resources.Replace(resource); err != nil {
				return "", err
			}
		}
	}
	out, err := resources.AsYaml()
	return string(out), err
}

// Flux parses the built-in schema anew for every build, which takes most of the time. Only builds that
// bring a schema see a difference.
func secureBuild(root, dir string) (resmap.ResMap, error) {
	if bringsSchema(root) {
		schema.Lock()
		defer schema.Unlock()
		defer preload()
		return generator.SecureBuild(root, dir, false)
	}
	schema.RLock()
	defer schema.RUnlock()
	files, err := securefs.MakeFsOnDiskSecure(root)
	if err != nil {
		return nil, err
	}
	options := &krusty.Options{
		LoadRestrictions: types.LoadRestrictionsNone,
		PluginConfig:     types.DisabledPluginConfig(),
	}
	return krusty.MakeKustomizer(options).Run(files, dir)
}

// A cluster that holds the job's objects.
type cluster struct {
	client.Client
	objects []map[string]any
}

func (c cluster) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := "ConfigMap"
	if _, secret := into.(*corev1.Secret); secret {
		kind = "Secret"
	}
	for _, object := range c.objects {
		found := unstructured.Unstructured{Object: object}
		if found.GetKind() == kind && found.GetName() == key.Name && found.GetNamespace() == key.Namespace {
			return runtime.DefaultUnstructuredConverter.FromUnstructured(object, into)
		}
	}
	return apierrors.NewNotFound(apischema.GroupResource{Resource: kind}, key.Name)
}
