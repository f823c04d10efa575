package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// workspaceRoot gives the folder in which npm installs all that a workspace needs, as newer hosts do;
// a folder that is in no other package is its own.
func workspaceRoot(folder string) string {
	for parent := filepath.Dir(folder); parent != filepath.Dir(parent); parent = filepath.Dir(parent) {
		var manifest struct{ Workspaces json.RawMessage }
		text, err := os.ReadFile(filepath.Join(parent, "package.json"))
		if err == nil && json.Unmarshal(text, &manifest) == nil && manifest.Workspaces != nil {
			return parent
		}
	}
	return folder
}
