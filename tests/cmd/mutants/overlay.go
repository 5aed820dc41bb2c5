package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// overlayOf writes changed copies of the files of some edits to dir, with the list of them for the flag -overlay. It
// returns the path of the list. The files of the module at root stay unchanged.
func overlayOf(root, dir string, edits []edit) (string, error) {
	replace := map[string]string{}
	for i, e := range edits {
		original := filepath.Join(root, filepath.FromSlash(e.file))
		before := original
		if changed, another := replace[original]; another { // of the same file
			before = changed
		}
		source, err := os.ReadFile(before)
		if err != nil {
			return "", err
		}
		changed, err := e.apply(string(source))
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(original)))
		if err := os.WriteFile(replace[original], []byte(changed), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}
