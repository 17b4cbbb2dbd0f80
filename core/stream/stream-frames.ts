/** Converts requests and resets to frames and back. Checks every field that a peer sends, before the field is used. */
import { segmentsOf } from '../identity/node-path.ts';
import { checkDnsLabel } from '../object/names.ts';
import { BanyanError } from '../runtime/errors.ts';
import { groupsMax } from '../wire/codec/part-limits.ts';
import type { Frame, Open, Reset } from '../wire/generated/mesh.ts';
import {
  creditBytesMax,
  deadlineMsMax,
  type ResetCode,
  resetCodes,
  type StreamRequest,
  type StreamReset,
} from './stream.ts';

/** Limit for a path: 16 levels with names of 63 characters. */
export const pathLengthMax = 1024;
const pathWords = `names of relays from the root, joined by colons, at most ${pathLengthMax} characters`;
/** Limit for the header of a request: as much as HTTP servers accept for a request line with its headers. */
export const headerBytesMax = 64 * 1024;
const userLengthMax = 1024;
/** Limit for the message of a reset, which is normally one sentence. */
const messageLengthMax = 1024;

export function openFrame(stream: number, request: StreamRequest, creditBytes: number): Frame {
  const { path, kind, deadlineMs, header, voucher, user, groups, bulk } = request;
  const value = {
    stream,
    path,
    kind,
    deadlineMs,
    header: Buffer.from(header),
    voucher,
    user,
    groups: [...groups],
    bulk,
    creditBytes,
  };
  return { frame: { $case: 'open', value } };
}

export function resetFrame(stream: number, { code, message, at, sinceMs }: StreamReset): Frame {
  const value = {
    stream,
    code: resetCodes[code],
    message: message.slice(0, messageLengthMax),
    at,
    sinceMs: sinceMs ?? 0,
  };
  return { frame: { $case: 'reset', value } };
}

export function resetFromWire({ code, message, at, sinceMs }: Reset): StreamReset {
  return {
    code: codeOf(code),
    message: message.slice(0, messageLengthMax),
    at: at.slice(0, pathLengthMax),
    ...(sinceMs > 0 ? { sinceMs } : {}),
  };
}

/** The name of a code. A code of a later version becomes `Internal`, and only its message tells the reason. */
function codeOf(code: number): ResetCode {
  for (const [name, value] of Object.entries(resetCodes)) if (value === code) return name as ResetCode;
  return 'Internal';
}

/** Converts and checks an Open. Throws BadRequest with the invalid field, its value and the allowed values. */
export function streamRequestFromWire(open: Open): StreamRequest {
  const { path, kind, deadlineMs, header, voucher, user, groups, bulk, creditBytes } = open;
  const request = { path, kind, deadlineMs, header, voucher, user, groups, bulk };
  checkRequest(request);
  if (creditBytes < 1 || creditBytes > creditBytesMax) bad('credit', creditBytes, `1 to ${creditBytesMax} bytes`);
  return request;
}

/** Throws BadRequest if a field of the request is invalid. */
export function checkRequest({ path, kind, deadlineMs, header, voucher, user, groups }: StreamRequest): void {
  for (const [field, value] of [
    ['path', path],
    ['voucher', voucher],
  ] as const)
    if (!isPath(value)) bad(field, value.slice(0, 100), pathWords);
  if (checkDnsLabel(kind) !== undefined) bad('kind', kind.slice(0, 100), 'a word of a-z, 0-9 and "-"');
  if (deadlineMs < 1 || deadlineMs > deadlineMsMax) bad('deadline', deadlineMs, `1 to ${deadlineMsMax} ms`);
  if (header.length > headerBytesMax) bad('header', `${header.length} bytes`, `at most ${headerBytesMax} bytes`);
  if (user === '' || user.length > userLengthMax) bad('user', user.slice(0, 100), `1 to ${userLengthMax} characters`);
  const wrongGroups = groups.length > groupsMax || groups.some((group) => group.length > userLengthMax);
  if (wrongGroups) bad('groups', `${groups.length} groups`, `at most ${groupsMax} of ${userLengthMax} characters each`);
}

function bad(field: string, value: string | number, remedy: string): never {
  throw new BanyanError('BadRequest', `the stream's ${field} is ${JSON.stringify(value)}: it must be ${remedy}`);
}

function isPath(path: string): boolean {
  return path.length <= pathLengthMax && segmentsOf(path).every((name) => checkDnsLabel(name) === undefined);
}
