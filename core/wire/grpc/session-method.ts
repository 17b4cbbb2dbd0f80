/** The methods of proto/mesh.proto in the form of grpc-js, without a codec: frames are encoded where they are sent. */
export const sessionMethod = '/banyan.mesh.v1.Mesh/Session';
export const streamMethod = '/banyan.mesh.v1.Mesh/Stream';

export const asBytes = (bytes: Buffer): Buffer => bytes;

const frames = {
  requestStream: true,
  responseStream: true,
  requestSerialize: asBytes,
  requestDeserialize: asBytes,
  responseSerialize: asBytes,
  responseDeserialize: asBytes,
} as const;

export const meshService = {
  session: { path: sessionMethod, ...frames },
  stream: { path: streamMethod, ...frames },
} as const;

/** Whether the `content-type` of an answer shows that it is from a node. An answer of a gateway contains a page of text. */
export function isOfGrpc(contentType: unknown): boolean {
  return typeof contentType === 'string' && contentType.startsWith('application/grpc');
}
