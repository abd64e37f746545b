// Before each file, also of those that share a process: what they import is there since the first and registers nothing for the others.
import { afterAll } from 'vitest'
import { removeHomes } from './homes-of-file.ts'

afterAll(removeHomes)
