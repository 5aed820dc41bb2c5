package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// BackUpEtcd returns a function that restores the current data of etcd. The restoration discards all later writes,
// and resource versions continue from those of the backup. Both steps restart etcd and all API servers.
func (c *Cluster) BackUpEtcd(ctx context.Context) (restore func(context.Context) error, err error) {
	data, backup := filepath.Join(c.dir, "etcd"), filepath.Join(c.dir, "etcd-backup")
	err = c.whileStopped(ctx, func() error { return os.CopyFS(backup, os.DirFS(data)) })
	return func(ctx context.Context) error {
		return c.whileStopped(ctx, func() error {
			return errors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(backup)))
		})
	}, err
}

// whileStopped does something while etcd and all API servers are stopped.
func (c *Cluster) whileStopped(ctx context.Context, do func() error) error {
	for _, s := range c.apiServers {
		if err := s.Kill(); err != nil {
			return err
		}
	}
	if err := c.etcd.Kill(); err != nil {
		return fmt.Errorf("stop etcd: %w", err)
	}
	if err := do(); err != nil {
		return err
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	for _, s := range c.apiServers {
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}
