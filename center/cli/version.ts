/** The version of this package. In a checkout, package.json is two folders up. In a package, it is beside the folder of the bundle. */
import { existsSync, readFileSync } from 'node:fs';

export function version(): string {
  for (const place of ['../../package.json', '../package.json']) {
    const file = new URL(place, import.meta.url);
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  }
  return 'unknown';
}
