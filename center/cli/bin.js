#!/usr/bin/env node
// The command in both of its shapes: a checkout runs its sources as they are, the published package has them bundled.
import { existsSync } from 'node:fs';

const source = new URL('./banyan.ts', import.meta.url);
await import(existsSync(source) ? source.href : new URL('../../dist/banyan.js', import.meta.url).href);
