// Command gateway is an S3 server for the tests of this directory's parent: Versity's gateway on directories. It is a
// module of its own, so that the gateway is no dependency of the operator. It serves TLS until its standard input ends.
//
// The account "root" may do everything; the account "locker" may do what the policies of buckets allow. The secret of
// each is its name with "-secret".
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	address := flag.String("address", "", "host and `PORT` to listen on")
	dir := flag.String("dir", "", "`DIRECTORY` of the objects, the accounts, and of tls.crt and tls.key")
	flag.Parse()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if err := serve(*address, *dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address, dir string) error {
	for _, name := range []string{"objects", "attributes", "accounts"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	attributes, err := meta.NewSideCar(filepath.Join(dir, "attributes"))
	if err != nil {
		return err
	}
	objects, err := posix.New(filepath.Join(dir, "objects"), attributes, posix.PosixOpts{
		SideCarDir: filepath.Join(dir, "attributes"),
	})
	if err != nil {
		return err
	}
	root := auth.Account{Access: "root", Secret: "root-secret", Role: auth.RoleAdmin}
	accounts, err := auth.NewInternal(root, filepath.Join(dir, "accounts"))
	if err != nil {
		return err
	}
	user := auth.Account{Access: "locker", Secret: "locker-secret", Role: auth.RoleUser}
	if _, err := accounts.GetUserAccount(user.Access); err != nil {
		if err := accounts.CreateAccount(user); err != nil {
			return err
		}
	}
	return embedgw.RunVersityGW(context.Background(), objects, &embedgw.Config{
		RootUserAccess: root.Access, RootUserSecret: root.Secret, Ports: []string{address}, IAMService: accounts,
		CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
		MaxConnections: 100, MaxRequests: 100, MultipartMaxParts: 100, KeepAlive: true, Quiet: true,
	})
}
