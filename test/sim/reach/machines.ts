/**
 * The files that the coverage counts: all files that decide about sessions, feeds and streams. Folders name them, so that a new file is counted at once.
 * Files without any part of the protocol are left out, each with its reason.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const folders = ['core/session', 'core/feed', 'core/stream', 'relay/guard'];
const files: ReadonlySet<string> = new Set([
  'relay/replicas/ownership.ts',
  'relay/catch-up/watermark-publisher.ts',
  'relay/children/label-summary-shrink-guard.ts',
  'relay/inventory-status/guard-conditions.ts',
  'relay/spaces/origins.ts',
]);

const left: Readonly<Record<string, string>> = {
  'core/session/session-metrics.ts': 'figures for people',
  'core/stream/stream-metrics.ts': 'figures for people',
  'core/stream/duplex.ts': 'a Duplex of Node on a stream, for HTTP',
  'core/stream/http.ts': 'HTTP on a stream, as Node does it',
  'core/stream/pass-on.ts': 'a request of HTTP handed on to another server',
  'core/stream/ping.ts': 'asks for a stream on behalf of a request to the API',
};

export function isMachine(file: string): boolean {
  if (left[file] !== undefined) return false;
  return files.has(file) || folders.includes(file.slice(0, file.lastIndexOf('/')));
}

/** Returns the files, including files that no run has loaded. */
export function machines(root: string): string[] {
  const inFolders = folders.flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`));
  return [...inFolders, ...files].filter((file) => file.endsWith('.ts') && isMachine(file)).sort();
}
