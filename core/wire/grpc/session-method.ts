/** The methods of proto/mesh.proto as grpc-js wants them, without a codec: frames are encoded where they are sent. */
export const sessionMethod = '/banyan.mesh.v1.Mesh/Session';

export const asBytes = (bytes: Buffer): Buffer => bytes;

export const meshService = {
  session: {
    path: sessionMethod,
    requestStream: true,
    responseStream: true,
    requestSerialize: asBytes,
    requestDeserialize: asBytes,
    responseSerialize: asBytes,
    responseDeserialize: asBytes,
  },
} as const;
