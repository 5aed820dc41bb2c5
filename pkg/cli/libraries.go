package cli

import (
	"io"

	"k8s.io/klog/v2"
)

// quietKlog discards client-go's own logs: important errors are returned, too.
func quietKlog() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}
