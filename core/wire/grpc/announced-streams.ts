/** The HTTP/2 streams of calls of the mesh. grpc-js keeps them to itself, and its sessions too; node:http2 tells of each that a server or a client opens. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientHttp2Stream, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { sessionMethod, streamMethod } from './session-method.ts';

export type MeshMethod = typeof sessionMethod | typeof streamMethod;

/** Of all servers of this process, from now on, until what it returns is called; the method is undefined for another path. */
export function onServerStreams(hear: (stream: ServerHttp2Stream, method: MeshMethod | undefined) => void): () => void {
  return heard('http2.server.stream.created', (stream, method) => hear(stream as ServerHttp2Stream, method));
}

/** The same of all clients. */
export function onClientStreams(hear: (stream: ClientHttp2Stream, method: MeshMethod | undefined) => void): () => void {
  return heard('http2.client.stream.created', (stream, method) => hear(stream as ClientHttp2Stream, method));
}

function heard(channel: string, hear: (stream: unknown, method: MeshMethod | undefined) => void): () => void {
  const opened = (message: unknown) => {
    const { stream, headers } = message as { stream: unknown; headers: IncomingHttpHeaders };
    const path = headers[':path'];
    hear(stream, path === sessionMethod || path === streamMethod ? path : undefined);
  };
  subscribe(channel, opened);
  return () => unsubscribe(channel, opened);
}
