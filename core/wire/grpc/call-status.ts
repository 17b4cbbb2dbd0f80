/** What a refusal is on the wire: gRPC's status and message, and the product's own code in the trailers, since several codes share a status. */
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { BanyanError, describeError, type ErrorCode, errorTable, isErrorCode } from '../../runtime/errors.ts';

/** A trailer, ASCII. */
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
  // Absent where grpc-js itself can't read a message, as one that is compressed; its types do not know that.
  const details: string | undefined = cause.details;
  const words = details?.replace(/^No connection established\. Last error: (Error: )?/, '');
  return new BanyanError(codeOf(cause), `${address}: ${words || 'the connection broke'}`, {}, { cause });
}

/** A node said so, and nobody on the way. */
export function isRefusal({ metadata }: ServiceError): boolean {
  return reportedCode(metadata) !== undefined;
}

// grpc-js has no metadata where it can't read a message; its types do not know that.
function reportedCode(metadata: Metadata | undefined): ErrorCode | undefined {
  const told = metadata?.get(codeKey)[0];
  return typeof told === 'string' && isErrorCode(told) ? told : undefined;
}

/**
 * Without a code of the product it is grpc-js, or something in between, that speaks. What that refuses is no word of the parent's, also where it asks for
 * somebody to log in: it may let another transport through.
 */
function codeOf({ code, metadata }: ServiceError): ErrorCode {
  const told = reportedCode(metadata);
  if (told) return told;
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
