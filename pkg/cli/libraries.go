package cli

import (
	"io"

	"k8s.io/klog/v2"
)

// quietKlog drops what client-go logs on its own: errors that matter are returned, too.
func quietKlog() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}
