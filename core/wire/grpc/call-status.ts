/** The form of a refusal on the wire: gRPC's status and message, and the product's own code in the trailers, since several codes share a status. */
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { BanyanError, describeError, type ErrorCode, errorTable, isErrorCode } from '../../runtime/errors.ts';

/** Name of a trailer, ASCII. */
const codeKey = 'banyan-code';

export interface CallStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

export function callStatusOf(error: unknown): CallStatus {
  const metadata = new Metadata();
  const code = error instanceof BanyanError ? error.code : 'Internal';
  metadata.set(codeKey, code);
  return { code: errorTable[code].grpc, details: describeError(error), metadata };
}

/** The error with which a call to `address` ended. */
export function errorOfCall(address: string, cause: ServiceError): BanyanError {
  // Absent where grpc-js itself can't read a message, for example a compressed one. The types of grpc-js do not show this.
  const details: string | undefined = cause.details;
  const message = details?.replace(/^No connection established\. Last error: (Error: )?/, '');
  return new BanyanError(codeOf(cause), `${address}: ${message || 'the connection broke'}`, {}, { cause });
}

/** Whether a node refused the call, and not somebody on the way. */
export function isRefusal({ metadata }: ServiceError): boolean {
  return reportedCode(metadata) !== undefined;
}

// grpc-js has no metadata where it can't read a message. The types of grpc-js do not show this.
function reportedCode(metadata: Metadata | undefined): ErrorCode | undefined {
  const code = metadata?.get(codeKey)[0];
  return typeof code === 'string' && isErrorCode(code) ? code : undefined;
}

/**
 * Without a code of the product, the error comes from grpc-js or from something on the way. Such a refusal is not the parent's, even if it asks for
 * authentication: another transport may get through.
 */
function codeOf({ code, metadata }: ServiceError): ErrorCode {
  const nodeCode = reportedCode(metadata);
  if (nodeCode) return nodeCode;
  switch (code) {
    case status.RESOURCE_EXHAUSTED:
      return 'TooLarge';
    case status.UNAUTHENTICATED:
    case status.UNIMPLEMENTED:
    case status.INTERNAL:
      return 'Protocol';
    default:
      return 'Unavailable';
  }
}
