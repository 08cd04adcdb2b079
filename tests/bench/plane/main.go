// SPDX-License-Identifier: Apache-2.0

// Command plane stands in for the four programs of a virtual cluster's control plane, so that a hundred of them fit on a
// machine with two cores, and what is measured is zood and the upstream. It is started by zood's keeper with the flags of
// daemon/clusters/plan.cpp, and its name decides what it is:
//
//	kube-apiserver           a store in memory of any kind of object (store.go) behind Kubernetes' requests (api.go); it
//	                         does at once what controllers and the scheduler would do: see admit() in api.go
//	kube-controller-manager  says that it is healthy
//	kube-scheduler           says that it is healthy
//	etcd                     accepts connections and closes them, and makes the directory by which zood knows its data
//
// Nothing outlives it. Flags that it does not know are ignored. SIGTERM ends it at once.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	flags := map[string]string{}
	for _, word := range os.Args[1:] {
		name, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		flags[name] = value
	}
	var err error
	switch name := filepath.Base(os.Args[0]); name {
	case "etcd":
		err = etcd(flags)
	case "kube-apiserver":
		var authority []byte
		if authority, err = os.ReadFile(flags["client-ca-file"]); err == nil {
			err = serve(flags, authority, newAPI(newStore(), string(authority)))
		}
	case "kube-controller-manager", "kube-scheduler":
		err = serve(flags, nil, http.HandlerFunc(healthy))
	default:
		err = fmt.Errorf("there is no part named %q", name)
	}
	log.Fatal("plane: ", err)
}

func healthy(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) }

// etcd listens where clients and peers would look for it.
func etcd(flags map[string]string) error {
	if err := os.MkdirAll(filepath.Join(flags["data-dir"], "member"), 0o700); err != nil {
		return err
	}
	ended := make(chan error)
	for _, flag := range []string{"listen-client-urls", "listen-peer-urls"} {
		at, err := url.Parse(flags[flag])
		if err != nil {
			return err
		}
		listener, err := net.Listen("tcp", at.Host)
		if err != nil {
			return err
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					ended <- err
					return
				}
				conn.Close()
			}
		}()
	}
	return <-ended
}

// serve speaks TLS with the certificate that the files hold at the time, as zood renews it in place. With an authority
// every client needs a certificate by it, and may do everything.
func serve(flags map[string]string, authority []byte, handler http.Handler) error {
	settings := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(flags["tls-cert-file"], flags["tls-private-key-file"])
		return &pair, err
	}}
	if authority != nil {
		settings.ClientAuth = tls.RequireAndVerifyClientCert
		settings.ClientCAs = x509.NewCertPool()
		if !settings.ClientCAs.AppendCertsFromPEM(authority) {
			return errors.New("--client-ca-file has no certificate")
		}
	}
	server := http.Server{Addr: net.JoinHostPort(flags["bind-address"], flags["secure-port"]), Handler: handler, TLSConfig: settings}
	return server.ListenAndServeTLS("", "")
}
