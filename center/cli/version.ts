/** The version of the package of this file. Its package.json is two folders up in a checkout, and beside the bundle's folder in a package. */
import { existsSync, readFileSync } from 'node:fs';

export function version(): string {
  for (const place of ['../../package.json', '../package.json']) {
    const file = new URL(place, import.meta.url);
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  }
  return 'unknown';
}
