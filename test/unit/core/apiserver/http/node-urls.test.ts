/** The further URLs of a node: answers that are whole, and answers that are made while the client reads. */
import { describe, expect, it } from 'vitest';
import { type ApiRequest, jsonResponse, type StreamedResponse } from '../../../../../core/apiserver/http/requests.ts';
import { BanyanError } from '../../../../../core/runtime/errors.ts';
import { ApiBench, answerOf } from './api-bench.ts';

describe('further URLs of a node', () => {
  it('are answered whole, and get no requests that the node does not know', async () => {
    const asked: string[] = [];
    await using api = await ApiBench.start({
      urls: ({ path, user }: ApiRequest) => {
        asked.push(path);
        return path === '/plans' ? Promise.resolve(jsonResponse(200, { user: user.name })) : undefined;
      },
    });
    expect(await api.call('GET', '/plans')).toMatchObject({ status: 200, text: '{"user":"jo"}\n' });
    expect((await api.call('GET', '/api/v1/namespaces')).status).toBe(200);
    expect(asked).toEqual(['/plans', '/api/v1/namespaces']);
  });

  it('do not hide the questions of users about themselves', async () => {
    await using api = await ApiBench.start({ urls: () => undefined });
    api.server.mount('/spaces/retail', api.space);
    const spec = { resourceAttributes: { verb: 'list', resource: 'pods' } };
    const body = { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', spec };
    const url = '/spaces/retail/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    expect((await api.call('POST', url, { body })).json()).toMatchObject({ status: { allowed: true } });
  });

  it('may refuse a request', async () => {
    const refused = new BanyanError('NotFound', 'there is no plan here');
    await using thrown = await ApiBench.start({
      urls: () => {
        throw refused;
      },
    });
    expect(await thrown.call('GET', '/plans')).toMatchObject({ status: 404 });
    await using rejected = await ApiBench.start({ urls: () => Promise.reject(refused) });
    expect((await rejected.call('GET', '/plans')).text).toContain('there is no plan here');
  });

  it('are sent piece by piece, and end when the client goes', async () => {
    let over: AbortSignal | undefined;
    const pieces = async function* (signal: AbortSignal) {
      yield Buffer.from('one');
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    await using api = await ApiBench.start({
      urls: (_, signal): Promise<StreamedResponse> => {
        over = signal;
        return Promise.resolve({ status: 200, pieces: pieces(signal) });
      },
    });
    const stream = api.open('GET', '/all', {}, true);
    await new Promise((resolve) => stream.once('data', resolve));
    expect(over?.aborted).toBe(false);
    const aborted = new Promise((resolve) => over!.addEventListener('abort', resolve));
    answerOf(stream).catch(() => {});
    stream.close();
    await aborted;
  });
});
