/**
 * An issuer of tokens as a process of its own: kubectl runs while the test waits. It reads `issuer.json` of its directory, with its certificate and key, and for
 * each answer `jwks.json`, with its present public keys. Each answer is as the file `mood` says. It listens on the port of its second argument, or on a free
 * one, and writes its URL to standard output.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export type Mood = 'good' | 'huge';

const directory = process.argv[2]!;
const { certPem, keyPem } = JSON.parse(readFileSync(join(directory, 'issuer.json'), 'utf8')) as {
  certPem: string;
  keyPem: string;
};
const moodFile = join(directory, 'mood');

const server = createServer({ cert: certPem, key: keyPem }, (request, answer) => {
  const mood = existsSync(moodFile) ? (readFileSync(moodFile, 'utf8') as Mood) : 'good';
  if (mood === 'huge') return fill(answer);
  const about = JSON.stringify({ issuer: url(), jwks_uri: `${url()}/keys` });
  answer.end(request.url === '/keys' ? readFileSync(join(directory, 'jwks.json')) : about);
});
server.listen(Number(process.argv[3] ?? 0), '127.0.0.1', () => process.stdout.write(`${url()}\n`));

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
