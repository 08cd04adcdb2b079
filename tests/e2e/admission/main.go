// SPDX-License-Identifier: Apache-2.0

// A webhook server for the tests of admission. It makes its own certificate, writes its port and authority to --out once it
// listens, and a line for each call to --log.
//
//	/validate  refuses what carries the label refuse=yes, and warns of all else
//	/mutate    adds the label touched=yes
//	/convert   renames spec.size to spec.length between versions v1 and v2
//	/review    notes the whole review, and allows
//	/patch     patches what the object's annotation `patch` says
//	/hang, /broken, /other-uid, /large  are no good
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

type object = map[string]any

func certificate(names []string) (tls.Certificate, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "webhook"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: names,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		log.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// at follows names into nested objects; nil where one is missing.
func at(o any, path ...string) any {
	for _, name := range path {
		inner, _ := o.(object)
		o = inner[name]
	}
	return o
}

func text(o any, path ...string) string {
	out, _ := at(o, path...).(string)
	return out
}

type server struct {
	lock  sync.Mutex
	calls *os.File
}

func (s *server) note(format string, arguments ...any) {
	s.lock.Lock()
	defer s.lock.Unlock()
	fmt.Fprintf(s.calls, format+"\n", arguments...)
}

// answer serves reviews: what is handed in becomes what is sent back.
func (s *server) answer(path string, decide func(request, response object)) {
	http.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		var review object
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		request, _ := review["request"].(object)
		response := object{"uid": request["uid"]}
		decide(request, response)
		delete(review, "request")
		review["response"] = response
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	})
}

func (s *server) admit(path string, decide func(request, response object)) {
	s.answer(path, func(request, response object) {
		s.note("%s %s %s.%s %s %s", path, text(request, "operation"), text(request, "resource", "resource"),
			text(request, "resource", "version"), text(request, "namespace"), text(request, "name"))
		response["allowed"] = true
		decide(request, response)
	})
}

func validate(request, response object) {
	if text(request, "object", "metadata", "labels", "refuse") == "yes" {
		response["allowed"] = false
		response["status"] = object{"message": "refused in " + text(request, "namespace"), "code": 403}
	}
	response["warnings"] = []string{"seen in " + text(request, "namespace")}
}

func mutate(request, response object) {
	patch := []object{{"op": "add", "path": "/metadata/labels/touched", "value": "yes"}}
	if at(request, "object", "metadata", "labels") == nil {
		patch = []object{{"op": "add", "path": "/metadata/labels", "value": object{"touched": "yes"}}}
	}
	encoded, _ := json.Marshal(patch)
	response["patchType"], response["patch"] = "JSONPatch", base64.StdEncoding.EncodeToString(encoded)
}

func (s *server) convert(request, response object) {
	wanted := text(request, "desiredAPIVersion")
	s.note("/convert %s", wanted)
	from, to := "size", "length"
	if strings.HasSuffix(wanted, "/v1") {
		from, to = to, from
	}
	objects, _ := request["objects"].([]any)
	for _, each := range objects {
		each.(object)["apiVersion"] = wanted
		if spec, ok := at(each, "spec").(object); ok && spec[from] != nil {
			spec[to] = spec[from]
			delete(spec, from)
		}
	}
	response["convertedObjects"], response["result"] = objects, object{"status": "Success"}
}

func main() {
	out := flag.String("out", "", "file for {port, ca}")
	calls := flag.String("log", "", "file for a line a call")
	names := flag.String("names", "localhost", "DNS names of the certificate, separated by commas")
	flag.Parse()
	pair, ca := certificate(strings.Split(*names, ","))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	record, err := os.OpenFile(*calls, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	s := &server{calls: record}
	s.admit("/validate", validate)
	s.admit("/mutate", mutate)
	s.answer("/convert", s.convert)
	s.admit("/other-uid", func(_, response object) { response["uid"] = "other" })
	s.admit("/large", func(_, response object) { response["warnings"] = []string{strings.Repeat("x", 4<<20)} })
	s.admit("/patch", func(request, response object) { // whatever the object's annotation says
		response["patchType"] = "JSONPatch"
		response["patch"] = base64.StdEncoding.EncodeToString([]byte(text(request, "object", "metadata", "annotations", "patch")))
	})
	http.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.note("/hang")
		<-r.Context().Done()
	})
	http.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "it is broken", http.StatusInternalServerError)
	})
	http.HandleFunc("/review", func(w http.ResponseWriter, r *http.Request) { // notes the whole review
		body, _ := io.ReadAll(r.Body)
		s.note("%s", body)
		var review object
		_ = json.Unmarshal(body, &review)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"response": object{"uid": at(review, "request", "uid"), "allowed": true}})
	})
	told, _ := json.Marshal(object{"port": listener.Addr().(*net.TCPAddr).Port, "ca": base64.StdEncoding.EncodeToString(ca)})
	if err := os.WriteFile(*out+".part", told, 0o600); err != nil {
		log.Fatal(err)
	}
	if err := os.Rename(*out+".part", *out); err != nil {
		log.Fatal(err)
	}
	serving := &http.Server{TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(serving.ServeTLS(listener, "", ""))
}
