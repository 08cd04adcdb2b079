// SPDX-License-Identifier: Apache-2.0

// Seeker tells which private keys and tokens it can read. `seeker LIST` tries each path of that file, a line each, and ends. Started
// as a program of a control plane, whose arguments are options, it takes the file seek.list beside itself, and stays until it is
// killed. It prints a line each: "seek: found PATH" for a file with a secret, "seek: read PATH" for one without, "seek: refused
// PATH", "seek: holds PATH" for what was open when it began, and "seek: end".
package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A database of etcd begins with what was written first; the rest of a large one is more of that.
const most = 8 << 20

// secrets are the forms of a private key, as PEM or in base64, and of a ServiceAccount's token.
func secrets() *regexp.Regexp {
	const words = "PRIVATE KEY-----"
	forms := []string{words, `eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}`}
	// Each of the three ways in which the words may meet groups of three bytes; their first and last group depend on what is beside them.
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("-", before) + words))
		forms = append(forms, regexp.QuoteMeta(text[4:len(text)-4]))
	}
	return regexp.MustCompile(strings.Join(forms, "|"))
}

func look(path string, secret *regexp.Regexp) string {
	file, err := os.Open(path)
	if err != nil {
		return "refused"
	}
	defer file.Close()
	bytes, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return "refused"
	}
	name := filepath.Ext(path)
	if name == ".key" || name == ".token" || secret.Match(bytes) {
		return "found"
	}
	return "read"
}

func run() error {
	held, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return err
	}
	for _, each := range held {
		if target, err := os.Readlink(each); err == nil {
			fmt.Println("seek: holds", target)
		}
	}
	stays := len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-")
	name := ""
	if !stays {
		name = os.Args[1]
	} else if self, err := os.Executable(); err == nil {
		name = filepath.Join(filepath.Dir(self), "seek.list")
	} else {
		return err
	}
	list, err := os.Open(name)
	if err != nil {
		return err
	}
	secret := secrets()
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		fmt.Println("seek:", look(lines.Text(), secret), lines.Text())
	}
	if err := lines.Err(); err != nil {
		return err
	}
	fmt.Println("seek: end")
	if stays {
		time.Sleep(time.Hour)
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "seeker:", err)
		os.Exit(1)
	}
}
