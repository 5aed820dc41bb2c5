package notify

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rancher/helm-locker/pkg/severity"
)

// Formats of a message.
const (
	// FormatCloudEvents is a CloudEvent 1.0 in the structured mode of the HTTP binding.
	FormatCloudEvents = "cloudevents"
	// FormatJSON is a plain JSON object: the data of the CloudEvent, with id, type and time beside it.
	FormatJSON = "json"
	// FormatSlack is a message for an incoming webhook of Slack.
	FormatSlack = "slack"
	// FormatTeams is a message for a Workflows webhook of Microsoft Teams: an Adaptive Card.
	FormatTeams = "teams"
)

// encoders are the formats.
var encoders = map[string]encoder{
	FormatCloudEvents: encodeCloudEvent, FormatJSON: encodeJSON, FormatSlack: encodeSlack, FormatTeams: encodeTeams,
}

const (
	// queueLength bounds the waiting messages of one receiver; each is a few hundred bytes.
	queueLength = 1000
	// requestTime bounds one attempt.
	requestTime = 10 * time.Second
	// maxAge is the age at which a waiting message expires.
	maxAge = time.Hour
	// flushTime bounds the sending at the end. Kubernetes kills a Pod 30 s after the request to stop.
	flushTime = 5 * time.Second

	// Attempts are spaced out from firstRetry to lastRetry. A receiver may ask for more with Retry-After.
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// Formats returns the formats, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(encoders)) }

// Options name the receivers and the form of the messages.
type Options struct {
	// URLs are the receivers, http or https. Everything beside scheme and host counts as secret, and is never logged.
	URLs []string
	// Format is FormatCloudEvents (also when empty), FormatJSON, FormatSlack or FormatTeams.
	Format string
	// TemplateFile is a Go template (text/template) for the body of a message, instead of a format. It is read once.
	TemplateFile string
	// CAFile is a PEM file of authorities to trust beside those of the system; it is read once.
	CAFile string
	// TokenFile holds a bearer token for all receivers, which must then be https. It is read again for each attempt,
	// because tokens in files are rotated.
	TokenFile string
	// Severity is the least severity of a drift that is sent, all when empty. The fragment of a URL replaces it for
	// that receiver: #severity=high. With #namespace=team-*,shop a receiver gets messages about releases in these
	// namespaces only; #severity=high&namespace=shop has both.
	Severity severity.Level
	// Cluster is the name of the cluster in each message; none when empty.
	Cluster string
	// SeveritiesFile has the rules for severities instead of the built-in ones; it is read once.
	SeveritiesFile string
}

// target is a receiver of the options.
type target struct {
	*url.URL
	wants filter
}

// targets returns the parsed URLs. Errors identify a URL by its number.
func (o Options) targets() ([]target, error) {
	targets := make([]target, 0, len(o.URLs))
	for i, text := range o.URLs {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
			return nil, fmt.Errorf("notification URL %d of %d: not an absolute http or https URL", i+1, len(o.URLs))
		case o.TokenFile != "" && u.Scheme != "https":
			return nil, fmt.Errorf("notification URL %d of %d (%s): a token is only sent over https", i+
				1, len(o.URLs), nameOf(u))
		}
		wants, err := o.filter(u.Fragment)
		if err != nil {
			return nil, fmt.Errorf("notification URL %d of %d (%s): %w", i+1, len(o.URLs), nameOf(u), err)
		}
		targets = append(targets, target{u, wants})
	}
	if len(targets) == 0 {
		return nil, errors.New("no receiver of notifications: set a URL (--notify-url)")
	}
	if o.TokenFile != "" {
		if _, err := readToken(o.TokenFile); err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// nameOf returns a name for logs: user, path and query of a URL may hold passwords.
func nameOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

func (o Options) client() (*http.Client, error) {
	transport, err := transport("notification", o.CAFile)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Timeout: requestTime, Transport: transport,
		// A redirect must not take a message, and the token with it, to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// transport returns a transport that trusts the authorities of the system, and those of a file if it is named.
func transport(of, caFile string) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("certificates of the system: %w", err)
		}
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("%s CA file: %w", of, err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s CA file %s has no certificate in PEM form", of, caFile)
		}
		config.RootCAs = pool
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 1, IdleConnTimeout: 90 * time.Second,
	}, nil
}

func readToken(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("notification token file: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", errors.New("notification token file " + file + " is empty")
	}
	return token, nil
}

// encoder returns the encoder for the body of a message.
func (o Options) encoder() (encoder, error) {
	if o.TemplateFile != "" {
		return templated(o.TemplateFile)
	}
	encode, known := encoders[cmp.Or(o.Format, FormatCloudEvents)]
	if !known {
		return nil, fmt.Errorf("notification format %q is none of %v", o.Format, Formats())
	}
	return encode, nil
}

// errFragment does not quote the fragment: it may be a part of a password.
var errFragment = errors.New("the part after # selects messages: #severity=high, #namespace=team-*,shop, or both " +
	"with & between them")

// filter returns the filter in the fragment of a URL, which is never sent to a server.
func (o Options) filter(fragment string) (filter, error) {
	f := filter{least: cmp.Or(o.Severity, severity.Low)}
	values, err := url.ParseQuery(fragment)
	if err != nil {
		return f, errFragment
	}
	for name, given := range values {
		text := given[0]
		switch {
		case len(given) > 1 || text == "":
			return f, errFragment
		case name == "severity":
			f.least = severity.Level(text)
		case name == "namespace":
			f.namespaces = strings.Split(text, ",")
		default:
			return f, errFragment
		}
	}
	if err := f.least.Check(); err != nil {
		return f, fmt.Errorf("its severity is none of %s", strings.Join(severity.Levels(), ", "))
	}
	for _, pattern := range f.namespaces {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return f, errors.New("one of its namespaces is neither a name nor a pattern with * and ?")
		}
	}
	return f, nil
}
