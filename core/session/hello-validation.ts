/** Checks every field of a Hello and of a Welcome, before the receiver uses any of them. */
import { hashBytes } from '../object/hash.ts';
import type { HeldPieces, Hello, ResumeTuple, Welcome } from '../wire/generated/mesh.ts';
import { attachSequenceMax } from './attach.ts';
import { bootCounterMax } from './node-identity.ts';
import { nonceBytes, revisionMax } from './wire-frames.ts';

/** Limit for the text with the name and version of the software. */
const softwareCharsMax = 256;
/** Limit for the transport, because every node above shows it. */
const transportCharsMax = 64;

/** Describes the first invalid field. Undefined: all fields are valid. */
export function validateHello(hello: Hello, certifiedRole: string): string | undefined {
  const { role, bootCounter, bootNonce, attachSequence, attachedNonce, software, transport, down, held } = hello;
  return (
    (role === certifiedRole ? undefined : `role is ${quoted(role)}, by the certificate it is ${certifiedRole}`) ??
    number('boot_counter', bootCounter, bootCounterMax - 1) ??
    bytes('boot_nonce', bootNonce, nonceBytes) ??
    number('attach_sequence', attachSequence, attachSequenceMax - 1) ??
    tuple('down', down) ??
    optional('attached_nonce', attachedNonce) ??
    pieces(held) ??
    text('software', software) ??
    flawOfTransport(transport)
  );
}

export function validateWelcome(welcome: Welcome): string | undefined {
  const { sessionSequence, up, software, downEpoch, downIncarnation, held } = welcome;
  return (
    number('session_sequence', sessionSequence) ??
    tuple('up', up) ??
    optional('down_epoch', downEpoch) ??
    optional('down_incarnation', downIncarnation) ??
    pieces(held) ??
    text('software', software)
  );
}

function tuple(name: string, value: ResumeTuple | undefined): string | undefined {
  if (!value) return undefined;
  return (
    optional(`${name}.epoch`, value.epoch) ??
    optional(`${name}.incarnation`, value.incarnation) ??
    number(`${name}.cursor`, value.cursor) ??
    number(`${name}.seen_head`, value.seenHead)
  );
}

function pieces(held: readonly HeldPieces[]): string | undefined {
  for (const { contentHash } of held) {
    const flaw = bytes('held.content_hash', contentHash, hashBytes);
    if (flaw) return flaw;
  }
  return undefined;
}

function number(name: string, value: number, most = revisionMax): string | undefined {
  return value <= most ? undefined : `${name} is ${value}: it must be at most ${most}`;
}

function bytes(name: string, value: Uint8Array, length: number): string | undefined {
  return value.length === length ? undefined : `${name} has ${value.length} bytes: it must have ${length}`;
}

function optional(name: string, value: Uint8Array): string | undefined {
  return value.length === 0 ? undefined : bytes(name, value, nonceBytes);
}

function text(name: string, value: string): string | undefined {
  if (value.length <= softwareCharsMax) return undefined;
  return `${name} has ${value.length} characters: it must have at most ${softwareCharsMax}`;
}

function flawOfTransport(transport: string): string | undefined {
  if (/^[a-z0-9+]+$/.test(transport) && transport.length <= transportCharsMax) return undefined;
  return `transport is ${quoted(transport)}: it must have 1 to ${transportCharsMax} characters of a-z, 0-9 and +`;
}

function quoted(value: string): string {
  return JSON.stringify(value.slice(0, 40));
}
