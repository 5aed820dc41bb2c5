package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"
)

// receiver sends messages to one URL, one after another, so the messages of a namespace arrive in order.
type receiver struct {
	url      *url.URL
	name     string
	encode   encoder
	wants    filter
	client   *http.Client
	token    string // file
	clock    clock.WithTicker
	log      logrus.FieldLogger
	observer Observer
	jitter   func(time.Duration) time.Duration
	queue    *queue
}

func (r *receiver) put(i *item) {
	if !r.wants.take(i.event) {
		r.observer.Notified(ResultSkipped)
		return
	}
	if r.queue.put(i) {
		r.log.Warn("notifications are lost: more come than the receiver takes")
	}
}

// run sends until the queue is closed and empty, or ctx ends.
func (r *receiver) run(ctx context.Context) {
	for {
		i := r.queue.take(ctx, r.clock.Now)
		if i == nil {
			break
		}
		r.deliver(ctx, i)
	}
	if n := r.queue.abandon(); n > 0 {
		r.log.Warnf("%d notifications were not sent before the end", n)
	}
	r.client.CloseIdleConnections()
}

// deliver sends one message, again and again until it is taken or turned down for good, or not worth sending any more.
func (r *receiver) deliver(ctx context.Context, i *item) {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		if i.tally {
			*i.Lost = r.queue.allLost(r.clock.Now())
		}
		body, mediaType, err := r.encode(i.event)
		if err != nil {
			r.log.Errorf("notification: %v", err)
			r.ended(i, ResultRejected)
			return
		}
		if len(body) == 0 {
			r.ended(i, ResultSkipped)
			return
		}
		err = r.post(ctx, body, mediaType)
		var failure *failure
		switch {
		case err == nil:
			r.ended(i, ResultSent)
			return
		case errors.As(err, &failure) && failure.forGood:
			r.log.Warnf("notification turned down: %v", err)
			r.ended(i, ResultRejected)
			return
		}
		wait := r.jitter(pause)
		if failure != nil {
			wait = max(wait, failure.after)
		}
		if r.clock.Since(i.at)+wait > maxAge {
			r.log.Warnf("notification given up after %s: %v", r.clock.Since(i.at).Round(time.Second), err)
			r.ended(i, ResultExpired)
			return
		}
		r.log.Debugf("notification failed, trying again in %s: %v", wait.Round(time.Millisecond), err)
		r.observer.NotifyRetried()
		if !r.sleep(ctx, wait) {
			r.ended(i, ResultDropped)
			return
		}
	}
}

// ended counts the final result of a message. A rejected or skipped message is not lost: the receiver got it, or its
// template excludes it. A message about losses is not counted as lost either: the next one includes its count.
func (r *receiver) ended(i *item, result string) {
	got := result != ResultDropped && result != ResultExpired
	switch {
	case !i.tally && !got:
		r.queue.loseTaken(result, r.clock.Now())
		return
	case i.tally && got:
		r.queue.reported(i.Lost, r.clock.Now())
	}
	r.observer.Notified(result)
}

// sleep waits and reports whether it may go on.
func (r *receiver) sleep(ctx context.Context, d time.Duration) bool {
	timer := r.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// failure is an answer other than success.
type failure struct {
	status  int
	forGood bool          // asking again is pointless
	after   time.Duration // how long the receiver wants to be left alone
}

func (f *failure) Error() string {
	if text := http.StatusText(f.status); text != "" {
		return fmt.Sprintf("the receiver answered %d %s", f.status, text)
	}
	return fmt.Sprintf("the receiver answered %d", f.status)
}

// bodyRead bounds the part of an answer that is read to reuse its connection. It is not parsed.
const bodyRead = 64 << 10

func (r *receiver) post(ctx context.Context, body []byte, mediaType string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url.String(), bytes.NewReader(body))
	if err != nil {
		return withoutURL(err)
	}
	request.Header.Set("Content-Type", mediaType)
	request.Header.Set("User-Agent", "helm-locker")
	if r.token != "" {
		token, err := readToken(r.token)
		if err != nil {
			return err // the file may be there again soon
		}
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer func() {
		if err := response.Body.Close(); err != nil {
			r.log.Debugf("close the answer to a notification: %v", err)
		}
	}()
	if _, err := io.CopyN(io.Discard, response.Body, bodyRead); err != nil && !errors.Is(err, io.EOF) {
		r.log.Debugf("read the answer to a notification: %v", withoutURL(err))
	}
	if response.StatusCode/100 == 2 {
		return nil
	}
	f := &failure{status: response.StatusCode, forGood: !worthRetrying(response.StatusCode)}
	if !f.forGood {
		f.after = retryAfter(response.Header.Get("Retry-After"), r.clock.Now())
	}
	return f
}

// withoutURL removes the URL from an error of net/http.
func withoutURL(err error) error {
	var about *url.Error
	if errors.As(err, &about) {
		return about.Err
	}
	return err
}

// worthRetrying reports whether another attempt may succeed after an answer with this status.
func worthRetrying(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= http.StatusInternalServerError
}

// retryAfter reads the header of that name (RFC 9110, section 10.2.3): seconds or a date. 0 when there is none.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds > 0 {
		return min(time.Duration(min(seconds, int(maxAge/time.Second)))*time.Second, maxAge)
	}
	if at, err := http.ParseTime(header); err == nil && at.After(now) {
		return min(at.Sub(now), maxAge)
	}
	return 0
}

// jitter spreads waits over the upper half of their length: receivers are not asked by all operators at once.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
