package operator

import (
	"github.com/rancher/helm-locker/pkg/controller"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/metrics"
)

// program is an operator before and during its run.
type program struct {
	options    ControllerOptions
	conn       *connection
	controller *controller.Controller
	metrics    *metrics.Metrics
	guard      *guard.Keeper // nil when none is asked for
	events     *events       // nil when none are asked for
}
