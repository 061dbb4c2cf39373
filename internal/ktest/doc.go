// SPDX-License-Identifier: Apache-2.0

// Package ktest is the harness of the end-to-end tests: it builds ptguard, prepares a
// Box (work folder, home, temp folder) and runs commands bare and guarded in fresh
// copies of it at the same path, so that whatever differs was done by ptguard.
//
// Three environment variables steer it, for runs of a compiled test binary:
//
//	PTGUARD_TEST_BINARY   the ptguard to test; unset: built from the module
//	PTGUARD_TEST_BUILD    a folder with tracees that are built already
//	PTGUARD_TEST_BASE     where boxes are made; must not lie under /tmp, which the
//	                      default preset makes writable
package ktest
