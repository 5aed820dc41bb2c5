package serving

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// room bounds the connections of a server. A new connection beyond the bound replaces one without a complete request:
// it is idle, or its client sends slowly. The replaced one belongs to the address with the most connections, so that
// no client displaces those of others, and has waited longest among these. Connections with a request in progress
// stay; when all are such, the new one is closed.
type room struct {
	most int

	mu sync.Mutex // guards the rest
	// waiting holds the connections that wait for a request, the longest wait first.
	waiting *list.List
	// open maps every connection to its place in waiting; to nil while its request is answered.
	open map[net.Conn]*list.Element
}

func newRoom(most int) *room {
	return &room{most: most, waiting: list.New(), open: map[net.Conn]*list.Element{}}
}

// changed is the server's ConnState: it is called when a connection is opened, between its requests, and when it is
// closed.
func (r *room) changed(connection net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if leaves := r.enter(connection); leaves != nil {
			// It is closed already when there is an error.
			_ = leaves.Close()
		}
	case http.StateIdle:
		r.mu.Lock()
		defer r.mu.Unlock()
		if _, open := r.open[connection]; open {
			r.wait(connection)
		}
	case http.StateClosed, http.StateHijacked:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.remove(connection)
	}
}

// enter adds a connection and returns the one to be closed for it; nil when there is room.
func (r *room) enter(connection net.Conn) net.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) < r.most {
		r.wait(connection)
		return nil
	}
	leaves := r.crowding()
	if leaves == nil {
		return connection
	}
	r.remove(leaves)
	r.wait(connection)
	return leaves
}

// crowding returns the waiting connection to be closed for another one; nil when none waits. r.mu is held.
func (r *room) crowding() (leaves net.Conn) {
	connections := map[string]int{}
	for connection := range r.open {
		connections[host(connection.RemoteAddr().String())]++
	}
	most := 0
	for place := r.waiting.Front(); place != nil; place = place.Next() {
		connection, _ := place.Value.(net.Conn)
		if n := connections[host(connection.RemoteAddr().String())]; n > most {
			most, leaves = n, connection
		}
	}
	return leaves
}

// wait puts a connection behind all waiting ones. r.mu is held.
func (r *room) wait(connection net.Conn) {
	if place := r.open[connection]; place != nil {
		r.waiting.Remove(place)
	}
	r.open[connection] = r.waiting.PushBack(connection)
}

// remove forgets a connection. r.mu is held.
func (r *room) remove(connection net.Conn) {
	if place := r.open[connection]; place != nil {
		r.waiting.Remove(place)
	}
	delete(r.open, connection)
}

type connectionKey struct{}

// withConnection is the server's ConnContext.
func withConnection(ctx context.Context, connection net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, connection)
}

// serving marks the connection of a request as busy until the request is answered.
func (r *room) serving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if connection, ok := request.Context().Value(connectionKey{}).(net.Conn); ok {
			r.mu.Lock()
			if place := r.open[connection]; place != nil {
				r.waiting.Remove(place)
				r.open[connection] = nil
			}
			r.mu.Unlock()
		}
		next.ServeHTTP(w, request)
	})
}

// host returns an address without its port.
func host(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// Source returns the client address of a request, without its port.
func Source(request *http.Request) string { return host(request.RemoteAddr) }
