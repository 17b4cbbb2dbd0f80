/**
 * The form of a refusal in gRPC: gRPC's status and message, and the product's own code in the trailers. The code is necessary because several codes have
 * the same status.
 */
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { BanyanError, describeError, type ErrorCode, errorTable, isErrorCode } from '../../runtime/errors.ts';

/** Name of an ASCII trailer. */
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

/** The error of a call to `address`, from the status with which the call ended. */
export function errorOfCall(address: string, cause: ServiceError): BanyanError {
  // Absent if grpc-js itself can't read a message, for example a compressed one. The types of grpc-js do not show this.
  const details: string | undefined = cause.details;
  const message = details?.replace(/^No connection established\. Last error: (Error: )?/, '');
  return new BanyanError(codeOf(cause), `${address}: ${message || 'the connection broke'}`, {}, { cause });
}

/** True if a node refused the call. False if a gateway or grpc-js did. */
export function isRefusal({ metadata }: ServiceError): boolean {
  return reportedCode(metadata) !== undefined;
}

// grpc-js gives no metadata if it can't read a message. The types of grpc-js do not show this.
function reportedCode(metadata: Metadata | undefined): ErrorCode | undefined {
  const code = metadata?.get(codeKey)[0];
  return typeof code === 'string' && isErrorCode(code) ? code : undefined;
}

/**
 * Without a code of the product, the error is from grpc-js or from a gateway. Then the parent has refused nothing, even if the status asks for
 * authentication: another transport may reach the parent.
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
