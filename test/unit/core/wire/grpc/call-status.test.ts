import { Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { BanyanError, type ErrorCode, errorTable } from '../../../../../core/runtime/errors.ts';
import { callStatusOf, errorOfCall } from '../../../../../core/wire/grpc/call-status.ts';

const codes = Object.keys(errorTable) as ErrorCode[];
const ended = (code: number, details: string, metadata = new Metadata()) =>
  errorOfCall('eu.example:7443', Object.assign(new Error(details), { code, details, metadata }));

describe('an error that ends a call', () => {
  it.each(codes)('is %s again at the other end, with its message and origin', (code) => {
    const sent = callStatusOf(new BanyanError(code, 'what is wrong'));
    expect(sent.code).toBe(errorTable[code].grpc);
    const { message, ...error } = ended(sent.code, sent.details, sent.metadata);
    expect({ code: error.code, message }).toEqual({ code, message: 'eu.example:7443: what is wrong' });
  });

  it('is Internal for any foreign error', () => {
    expect(callStatusOf(new TypeError('x is not a function'))).toMatchObject({
      code: 13,
      details: 'x is not a function',
    });
    const { code, details, metadata } = callStatusOf('thrown text');
    expect(ended(code, details, metadata)).toMatchObject({ code: 'Internal', message: 'eu.example:7443: thrown text' });
  });

  it.each([
    [status.UNAUTHENTICATED, 'Protocol'],
    [status.RESOURCE_EXHAUSTED, 'TooLarge'],
    [status.UNIMPLEMENTED, 'Protocol'],
    [status.INTERNAL, 'Protocol'],
    [status.UNAVAILABLE, 'Unavailable'],
    [status.CANCELLED, 'Unavailable'],
    [status.DEADLINE_EXCEEDED, 'Unavailable'],
    [status.UNKNOWN, 'Unavailable'],
    [4711, 'Unavailable'],
  ] as const)('that another program gave as status %i is %s', (code, expected) => {
    expect(ended(code, 'words')).toMatchObject({ code: expected, message: 'eu.example:7443: words' });
  });

  it('follows the status if the code in the trailers is unknown', () => {
    for (const sent of ['Teapot', 'toString', '__proto__', '']) {
      const metadata = new Metadata();
      metadata.set('banyan-code', sent);
      expect(ended(status.UNAUTHENTICATED, 'words', metadata).code).toBe('Protocol');
    }
  });

  it('names the cause, without the preliminaries of grpc-js, and is never empty', () => {
    const details = 'No connection established. Last error: Error: connect ECONNREFUSED';
    expect(ended(status.UNAVAILABLE, details).message).toBe('eu.example:7443: connect ECONNREFUSED');
    expect(ended(status.UNAVAILABLE, '').message).toBe('eu.example:7443: the connection broke');
  });

  it('keeps the error of grpc-js as its cause', () => {
    expect(ended(status.UNAVAILABLE, 'words').cause).toMatchObject({ code: status.UNAVAILABLE });
  });
});
