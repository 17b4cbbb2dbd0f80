/**
 * An issuer of tokens as a process of its own: kubectl runs while the test waits. It reads `issuer.json` of its directory: certificate, key and public keys.
 * Each answer is as the file `mood` says. It writes its URL to standard output.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export type Mood = 'good' | 'html' | 'slow' | 'huge';

const directory = process.argv[2]!;
const { certPem, keyPem, jwks } = JSON.parse(readFileSync(join(directory, 'issuer.json'), 'utf8')) as {
  certPem: string;
  keyPem: string;
  jwks: object;
};
const moodFile = join(directory, 'mood');

const server = createServer({ cert: certPem, key: keyPem }, (request, answer) => {
  const mood = existsSync(moodFile) ? (readFileSync(moodFile, 'utf8') as Mood) : 'good';
  if (mood === 'slow') return;
  if (mood === 'html') return void answer.end('<html>');
  if (mood === 'huge') return fill(answer);
  answer.end(JSON.stringify(request.url === '/keys' ? jwks : { issuer: url(), jwks_uri: `${url()}/keys` }));
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${url()}\n`));

function url(): string {
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function fill(answer: NodeJS.WritableStream): void {
  const chunk = Buffer.alloc(64 * 1024, 32);
  const more = () => {
    while (answer.write(chunk));
  };
  answer.on('drain', more).on('error', () => {});
  more();
}
