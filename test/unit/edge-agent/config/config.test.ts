import { describe, expect, it } from 'vitest';
import { parseAgentConfig } from '../../../../edge-agent/config/config.ts';

const good = `
path: eu:paris:store-17
data: /data
parent: {address: "127.0.0.1:9", path: "eu:paris"}
pki: {ca: ca.pem, cert: cert.pem, key: key.pem}
cluster: {embedded: {}}
`;

describe('the configuration of an agent', () => {
  it('is complete with defaults', () => {
    expect(parseAgentConfig(good, 'agent.yaml')).toMatchObject({
      logLevel: 'info',
      api: { host: '127.0.0.1', port: 0 },
      cluster: { embedded: { stepMinMs: 100, stepMaxMs: 300, progressDeadlineMaxMs: 10_000 } },
    });
  });

  it('is refused with the file and the field for an unknown key, a wrong type and a missing field', () => {
    expect(() => parseAgentConfig(`${good}metrix: 1\n`, 'agent.yaml')).toThrow(
      /^agent\.yaml:7: metrix: unknown key "metrix"; known keys are: path, data, /,
    );
    expect(() => parseAgentConfig(good.replace('address: "127.0.0.1:9"', 'address: 9'), 'agent.yaml')).toThrow(
      /^agent\.yaml:4: parent\.address: 9 is a number; write "9"$/,
    );
    expect(() => parseAgentConfig(good.replace('path: eu:paris:store-17\n', ''), 'agent.yaml')).toThrow(
      /^agent\.yaml:2: path is missing$/,
    );
    expect(() => parseAgentConfig('a: [', 'agent.yaml')).toThrow(/^agent\.yaml:1: not YAML/);
  });

  it('accepts a Lease for several agents with one identity, and refuses an invalid name of a Lease', () => {
    const withLease = (lease: string) =>
      parseAgentConfig(good.replace('{embedded: {}}', `{kubernetes: {lease: ${lease}}}`), 'agent.yaml');
    expect(withLease('{namespace: banyan, name: agent.eu}')).toMatchObject({
      cluster: { kubernetes: { lease: { namespace: 'banyan', name: 'agent.eu' } } },
    });
    expect(() => withLease('{namespace: banyan, name: "eu:shop"}')).toThrow(
      /^agent\.yaml:6: cluster\.kubernetes\.lease\.name: "eu:shop": the name of a Lease has only a-z/,
    );
    expect(() => withLease('{name: agent}')).toThrow(
      /^agent\.yaml:6: cluster\.kubernetes\.lease\.namespace is missing$/,
    );
  });

  it('accepts a join token instead of certificates, with a Secret only if there is a cluster for it', () => {
    const secret = '{joinToken: /run/token, secret: {namespace: banyan, name: agent-joined}}';
    const withToken = (pki: string, cluster = '{embedded: {}}') =>
      parseAgentConfig(
        good
          .replace('{ca: ca.pem, cert: cert.pem, key: key.pem}', pki)
          .replace('cluster: {embedded: {}}', `cluster: ${cluster}`),
        'agent.yaml',
      ).pki;
    expect(withToken('{joinToken: /run/token}')).toEqual({ joinToken: '/run/token' });
    expect(withToken(secret, '{kubernetes: {}}')).toMatchObject({ secret: { namespace: 'banyan' } });
    expect(() => withToken(secret)).toThrow(
      /^agent\.yaml:5: pki\.secret: remove it\. An embedded cluster has no such Secret; .* in its data directory$/,
    );
    const files = '{ca: ca.pem, cert: cert.pem, key: key.pem, secret: {namespace: banyan, name: identity}}';
    expect(withToken(files, '{kubernetes: {}}')).toMatchObject({ cert: 'cert.pem', secret: { name: 'identity' } });
    expect(() => withToken(files)).toThrow(
      /^agent\.yaml:5: pki\.secret: remove it\. An embedded cluster has no such Secret; .* in the files of pki$/,
    );
    expect(() => withToken('{joinToken: /run/token, ca: ca.pem}')).toThrow(
      /^agent\.yaml:5: pki\.ca must not be beside joinToken; remove one$/,
    );
    expect(() => withToken('{ca: ca.pem}')).toThrow(
      /^agent\.yaml:5: pki\.cert is missing\nagent\.yaml:5: pki\.key is missing$/,
    );
    expect(() => withToken('{}')).toThrow(/^agent\.yaml:5: pki must have either ca, cert, key, or joinToken$/);
    expect(() => withToken('{joinTokn: x}')).toThrow(
      /pki\.joinTokn: unknown key "joinTokn"; did you mean "joinToken"\?/,
    );
  });

  it('accepts users who may read the metrics for a real cluster, and none for an embedded one', () => {
    const access = 'access: {metrics: ["center:jo"]}';
    const real = good.replace('{embedded: {}}', '{kubernetes: {}}');
    expect(parseAgentConfig(real, 'agent.yaml').access.metrics).toEqual([]);
    expect(parseAgentConfig(`${real}${access}`, 'agent.yaml').access.metrics).toEqual(['center:jo']);
    expect(() => parseAgentConfig(`${good}${access}`, 'agent.yaml')).toThrow(
      'agent.yaml:7: access.metrics: remove it. The roles of an embedded cluster decide: bind the ClusterRole banyan:metrics in the cluster',
    );
  });

  it('accepts a list of users from above for a real cluster, and none for an embedded one', () => {
    const streams = 'streams: {cluster: {users: ["center:jo"]}}';
    const real = good.replace('{embedded: {}}', '{kubernetes: {}}');
    expect(parseAgentConfig(real, 'agent.yaml').streams).toBeUndefined();
    const cluster = { users: ['center:jo'], groups: [] };
    expect(parseAgentConfig(`${real}${streams}`, 'agent.yaml').streams).toEqual({ cluster });
    expect(() => parseAgentConfig(`${good}${streams}`, 'agent.yaml')).toThrow(
      /^agent\.yaml:7: streams: remove it\. An embedded cluster has no users/,
    );
    expect(() => parseAgentConfig(`${real}streams: {cluster: {users: []}}`, 'agent.yaml')).toThrow(
      /streams\.cluster\.users/,
    );
  });

  it('accepts limits in bytes in Kubernetes’ notation, and refuses limits that leave no room', () => {
    const withLimits = (memory: string, inFlightBytes: string) =>
      parseAgentConfig(
        `${good.replace('{embedded: {}}', `{kubernetes: {limits: {inFlightBytes: ${inFlightBytes}}}}`)}limits: {memory: ${memory}}`,
        'agent.yaml',
      );
    expect(withLimits('200Mi', '8388608')).toMatchObject({
      limits: { memory: 209_715_200, deletions: { entries: 50 } },
      cluster: { kubernetes: { limits: { inFlightBytes: 8_388_608, inFlight: 16 } } },
    });
    expect(() => withLimits('lots', '16Mi')).toThrow(/limits\.memory: "lots" is no number of bytes of 96Mi or more/);
    expect(() => withLimits('95Mi', '16Mi')).toThrow(/limits\.memory: "95Mi"/);
    expect(() => withLimits('200Mi', '1M')).toThrow(
      /^agent\.yaml:6: cluster\.kubernetes\.limits\.inFlightBytes: "1M" is no number of bytes of 8Mi or more/,
    );
    expect(() => withLimits('200.5', '16Mi')).toThrow(/limits\.memory: 200\.5/);
  });
});
