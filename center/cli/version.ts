/** The version of the package that this file belongs to: two folders up in a checkout, beside the bundle in a package. */
import { existsSync, readFileSync } from 'node:fs';

export function version(): string {
  for (const place of ['../../package.json', '../package.json']) {
    const file = new URL(place, import.meta.url);
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  }
  return 'unknown';
}
