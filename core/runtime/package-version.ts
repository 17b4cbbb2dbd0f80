/** The version in package.json: beside the folder of the bundles in a package, and two folders up in a checkout. */
import { existsSync, readFileSync } from 'node:fs';

export function packageVersion(): string {
  for (const place of ['../package.json', '../../package.json']) {
    const file = new URL(place, import.meta.url);
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  }
  throw new Error('package.json is not where the package has it');
}
