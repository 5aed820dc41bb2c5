package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
)

// auditMargin is how far apart the clocks of an operator and of an API server are at most, for a query.
const auditMargin = time.Minute

// AuditQuery returns a command that finds the requests behind a drift record in an audit log of the API server,
// audit.log: their time, user, impersonated user, verb and user agent. The object itself names no user.
func AuditQuery(r v1alpha1.DriftRecord) string {
	from, to := r.Time.Time, r.Time.Time
	switch {
	case r.Since == v1alpha1.DriftSinceLocked && r.Duration != nil:
		from = from.Add(-r.Duration.Duration)
	case r.ChangeTime != nil && r.ChangeTime.Time.Before(from):
		from = r.ChangeTime.Time
	}
	where := []string{
		`.stage == "ResponseComplete"`, `(.verb | IN("create", "update", "patch", "delete", "deletecollection"))`,
		equals(`.objectRef.apiGroup // ""`, r.Object.Group), equals(`.objectRef.namespace // ""`, r.Object.Namespace),
		fmt.Sprintf(`(.objectRef.name | IN(%s, null))`, quoted(r.Object.Name)),
		".requestReceivedTimestamp >= " + quoted(Time(from.Add(-auditMargin))),
		".requestReceivedTimestamp <= " + quoted(Time(to.Add(auditMargin))),
	}
	what := `[.requestReceivedTimestamp, .user.username, .impersonatedUser.username, .verb, .objectRef.resource, ` +
		`.userAgent] | @tsv`
	program := "select(" + strings.Join(where, " and ") + ") | " + what
	return "jq -r '" + strings.ReplaceAll(program, "'", `'\''`) + "' audit.log"
}

func equals(field, value string) string { return fmt.Sprintf("(%s) == %s", field, quoted(value)) }

// quoted returns a text as jq has it, without control characters.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""` // a string is never refused
	}
	return plain.Line(string(b))
}
