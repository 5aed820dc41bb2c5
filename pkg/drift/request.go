package drift

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// This file makes Helm's request from a desired state and the further values that Helm sends (manifest.Object.Blank).
// The API server does not keep those: declared nulls, the stringData of a Secret, and fields that belong to others once
// the object exists. An apply without them leaves them to their managers.

// stringData is the field of a Secret that the API server folds into data.
const stringData = "stringData"

// Created returns the desired state with the fields of blank that have a value: the object as Helm creates it. It
// changes neither.
func Created(desired, blank map[string]any) map[string]any {
	return withBlank(desired, blank, func(v any) bool { return v != nil })
}

// withNulls returns the desired state with the nulls of blank. It changes neither.
func withNulls(desired, blank map[string]any) map[string]any {
	return withBlank(desired, blank, func(v any) bool { return v == nil })
}

func withBlank(desired, blank map[string]any, sent func(any) bool) map[string]any {
	if len(blank) == 0 {
		return desired
	}
	out := maps.Clone(desired)
	for key, v := range blank {
		below, isTree := v.(map[string]any)
		want, declared := desired[key]
		switch {
		case isTree && declared:
			out[key] = withBlankBelow(want, below, sent)
		case !isTree && !declared && sent(v):
			out[key] = v // a value that is declared, by stringData, stays beside a declared null
		}
	}
	return out
}

func withBlankBelow(want any, blank map[string]any, sent func(any) bool) any {
	switch w := want.(type) {
	case map[string]any:
		return withBlank(w, blank, sent)
	case []any:
		list := slices.Clone(w)
		for key, v := range blank {
			below, isTree := v.(map[string]any)
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(list) && isTree {
				list[i] = withBlankBelow(list[i], below, sent)
			}
		}
		return list
	}
	return want
}

// foldedKeys returns the keys of a Secret's data that its manifest declares as stringData.
func foldedKeys(desired, blank map[string]any) map[string]any {
	if desired[stringData] != nil { // of another kind
		return nil
	}
	return mapOf(blank[stringData])
}

// unfold moves the folded keys of body, an apply of a desired state, from data to stringData. A value other than text
// stays.
func unfold(body, desired, blank map[string]any) {
	folded := foldedKeys(desired, blank)
	data, text := mapOf(body["data"]), map[string]any{}
	for key := range folded {
		if _, declared := mapOf(desired["data"])[key]; !declared {
			text[key] = nil
			continue
		}
		encoded, _ := data[key].(string)
		plain, err := base64.StdEncoding.DecodeString(encoded)
		if _, sent := data[key]; sent && err == nil && utf8.Valid(plain) {
			text[key] = string(plain)
			delete(data, key)
		}
	}
	if len(text) == 0 {
		return
	}
	body[stringData] = text
	setData(body, data, blank, text)
}

// setData sets the data that Helm sends beside keys of stringData, with the nulls that the manifest declares there.
// It changes data.
func setData(body, data, blank, keys map[string]any) {
	nulls := mapOf(blank["data"])
	if data == nil {
		data = map[string]any{}
	}
	for key := range keys {
		if _, null := nulls[key]; null {
			data[key] = nil
		}
	}
	value, found := blank["data"]
	switch {
	case len(data) > 0:
		body["data"] = data
	case found && value == nil: // declared as null
		body["data"] = nil
	default:
		delete(body, "data")
	}
}

// Request is the server-side apply of Helm's next revision to an object: its desired state and the values that Helm
// sends beside it (see manifest.Object.Blank).
type Request struct {
	Desired, Blank map[string]any
	Schema         Schema
	// Ignore is that of Options. Ignored fields are left to their owners.
	Ignore func(path []string) bool
}
