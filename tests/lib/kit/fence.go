package kit

import "fmt"

// ConfigMap returns the manifest of a ConfigMap with one key, called key.
func ConfigMap(name, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {key: %q}\n", name, value)
}

// Fence is a locked release of one ConfigMap, called fence, by which tests know how far the operator has come.
type Fence struct{ times int }

// Lock locks the release of the fence.
func (f *Fence) Lock(e *Env) {
	e.Helper()
	e.Forge(ForgedRecord{Name: "fence", Manifest: ConfigMap("fence", "up")})
	e.Lock("fence")
}

// Pass returns when the operator has seen all changes of ConfigMaps that were made before the call, and has had the
// time to act on them: it sees the events of one kind in their order, and the fence has been restored three times
// since.
func (f *Fence) Pass(e *Env) {
	e.Helper()
	for range 3 {
		f.times++
		e.Patch(ConfigMaps, "fence", fmt.Sprintf(`{"data":{"key":"down %d"}}`, f.times))
		e.WaitField(ConfigMaps, "fence", "data.key", "up")
	}
}
