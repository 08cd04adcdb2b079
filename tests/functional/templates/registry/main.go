// SPDX-License-Identifier: Apache-2.0

// A registry of the OCI distribution API as it is run in production, with files for its storage and passwords.
//
//	registry serve CONFIG       answers; its log says where
//	registry password WORD      prints the word as a file of passwords has it
package main

import (
	"fmt"
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"golang.org/x/crypto/bcrypt"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "password" {
		hash, err := bcrypt.GenerateFromPassword([]byte(os.Args[2]), bcrypt.MinCost)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(hash))
		return
	}
	if registry.RootCmd.Execute() != nil {
		os.Exit(1)
	}
}
