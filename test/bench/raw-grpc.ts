/**
 * The raw limit of the wire: the product's library, options and certificates, bytes instead of frames, and nothing behind them. The server sends a message on
 * every stream; the other end answers each with one.
 */

import type { ServerDuplexStream } from '@grpc/grpc-js';
import { Client, type ClientDuplexStream, credentials, Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import { channelOptions } from '../../core/wire/grpc/channel-options.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';

const method = '/banyan.bench.Raw/Stream';
const connectWithinMs = 30_000;
const identity = (bytes: Buffer) => bytes;

export interface RawServer extends AsyncDisposable {
  readonly address: string;
  /** Sends these bytes on every stream; resolves when each stream has answered. */
  blast(bytes: Buffer): Promise<void>;
}

export async function serveRaw({ caPem, certPem, keyPem }: NodeCredentials): Promise<RawServer> {
  const calls = new Set<ServerDuplexStream<Buffer, Buffer>>();
  let missing = 0;
  let done = () => {};
  let lost = (_error: Error) => {};
  const server = new Server(channelOptions);
  const stream = {
    path: method,
    requestStream: true,
    responseStream: true,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  } as const;
  server.addService(
    { stream },
    {
      stream: (call: ServerDuplexStream<Buffer, Buffer>) => {
        calls.add(call);
        call.on('data', () => {
          missing--;
          if (missing === 0) done();
        });
        call.on('cancelled', () => {
          calls.delete(call);
          lost(new Error('a raw stream was lost'));
        });
        call.on('error', () => calls.delete(call));
      },
    },
  );
  const secure = ServerCredentials.createSsl(caPem, [{ private_key: keyPem, cert_chain: certPem }], true);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', secure, (error, actual) => (error ? reject(error) : resolve(actual)));
  });
  return {
    address: `127.0.0.1:${port}`,
    blast(bytes) {
      return new Promise((resolve, reject) => {
        missing = calls.size;
        done = resolve;
        lost = reject;
        for (const call of calls) call.write(bytes);
      });
    },
    async [Symbol.asyncDispose]() {
      server.forceShutdown();
    },
  };
}

/** One connection with one stream, on which `answer` answers every message. */
export async function answerRaw(address: string, own: NodeCredentials, answer: Buffer): Promise<void> {
  const secure = credentials.createSsl(own.caPem, own.keyPem, own.certPem, { checkServerIdentity: () => undefined });
  const client = new Client(address, secure, { ...channelOptions, 'grpc.ssl_target_name_override': 'banyan.parent' });
  await new Promise<void>((resolve, reject) => {
    client.waitForReady(Date.now() + connectWithinMs, (error) => (error ? reject(error) : resolve()));
  });
  const call: ClientDuplexStream<Buffer, Buffer> = client.makeBidiStreamRequest(
    method,
    identity,
    identity,
    new Metadata(),
  );
  call.on('data', () => call.write(answer));
  // The server ends first, and with it this process.
  call.on('error', () => {});
}
