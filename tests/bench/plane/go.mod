// SPDX-License-Identifier: Apache-2.0

module plane

go 1.26
