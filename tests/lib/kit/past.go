package kit

// Past returns the recorded texts at a path of a ConfigMap, oldest first; "" where it was absent.
func (h *History) Past(name, path string) []string {
	var values []string
	for _, u := range h.States(ConfigMaps, name) {
		value, _ := Field(u, path).(string)
		values = append(values, value)
	}
	return values
}
