package main

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	// Linked in so that the managed-by label carries the release's version.
	_ "sigs.k8s.io/kustomize/kustomize/v5/commands/version"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// Upstream keeps one schema per process: builds that bring their own wait until they are alone.
var schema sync.RWMutex

func preload() {
	openapi.ResetOpenAPI()
	_ = openapi.Schema()
}

func options(job Job) *krusty.Options {
	options := krusty.MakeDefaultOptions()
	switch job.Reorder {
	case "":
	default:
		options.Reorder = krusty.ReorderOption(job.Reorder)
	}
	if job.LoadRestrictions == "none" {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	return options
}

func kustomize(job Job) (string, error) {
	root := job.Root
	if root == "" {
		root = job.Dir
	}
	if job.Exclusive || bringsSchema(root) {
		schema.Lock()
		defer schema.Unlock()
		openapi.ResetOpenAPI()
		defer preload()
	} else {
		schema.RLock()
		defer schema.RUnlock()
	}
	return build(filesys.MakeFsOnDisk(), job.Dir, options(job))
}

func build(files filesys.FileSystem, dir string, options *krusty.Options) (string, error) {
	resources, err := krusty.MakeKustomizer(options).Run(files, dir)
	if err != nil {
		return "", err
	}
	text, err := resources.AsYaml()
	return string(text), err
}

// Whether a file below the folder speaks of a schema; one word too many costs only time.
func bringsSchema(root string) bool {
	found := false
	_ = filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || found {
			return filepath.SkipAll
		}
		if entry.Type().IsRegular() {
			text, err := os.ReadFile(path)
			found = err == nil && bytes.Contains(text, []byte("openapi"))
		}
		return nil
	})
	return found
}
