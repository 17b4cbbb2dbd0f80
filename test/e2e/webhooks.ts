/**
 * A conversion webhook for Peers of net.example.com: `spec.address` of v1beta1 is `spec.to.address` of v1. And an admission webhook that allows everything. A
 * process of its own, because a test blocks while kubectl runs. Arguments: the files of the certificate and of the key. Prints the port.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

interface Peer {
  apiVersion: string;
  kind: string;
  metadata: object;
  spec: { address?: string; to?: { address?: string } };
}

interface Review {
  apiVersion: string;
  kind: string;
  request: { uid: string; desiredAPIVersion?: string; objects?: Peer[] };
}

const [cert, key] = process.argv.slice(2).map((file) => readFileSync(file));
if (!cert || !key) throw new Error('usage: webhooks.ts CERTIFICATE KEY');

function converted({ metadata, spec, kind, ...rest }: Peer, apiVersion: string): object {
  const address = spec.to?.address ?? spec.address;
  const next = apiVersion === 'net.example.com/v1' ? { to: { address } } : { address };
  return { ...rest, apiVersion, kind, metadata, spec: next };
}

/** The answer to a ConversionReview, or to an AdmissionReview: only the first has objects and a version. */
function answerTo({ uid, desiredAPIVersion, objects }: Review['request']): object {
  if (!objects || desiredAPIVersion === undefined) return { uid, allowed: true };
  const convertedObjects = objects.map((object) => converted(object, desiredAPIVersion));
  return { uid, result: { status: 'Success' }, convertedObjects };
}

const server = createServer({ cert, key }, async (request, response) => {
  const { apiVersion, kind, request: asked } = JSON.parse((await request.toArray()).join('')) as Review;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ apiVersion, kind, response: answerTo(asked) }));
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
