import { describe, expect, it } from 'vitest';
import { negotiate, preferredEncoding } from '../../../../../core/apiserver/http/negotiate.ts';

const object = { as: 'object' };

describe('the Accept header', () => {
  it.each([undefined, '', '*/*', 'application/json', 'application/vnd.kubernetes.protobuf'])(
    '%s asks for the object itself, as JSON',
    (accept) => {
      expect(negotiate(accept)).toEqual(object);
    },
  );

  it('is read clause by clause: the first form that the server supports', () => {
    // kubectl get
    const get =
      'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json';
    expect(negotiate(get)).toEqual({ as: 'Table', version: 'v1' });
    // kubectl 1.27, which knows only the older discovery
    const discovery = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';
    expect(negotiate(discovery)).toEqual({ as: 'discovery', version: 'v2beta1' });
    // client-go's metadata client prefers protobuf
    const metadata =
      'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
    expect(negotiate(metadata)).toEqual({ as: 'PartialObjectMetadata', version: 'v1' });
  });

  it.each([
    'application/json;as=Table;v=v2;g=meta.k8s.io',
    'application/json;as=Table;v=v1;g=apps',
    'application/json;as=Chart;v=v1;g=meta.k8s.io',
    'application/json;as=APIGroupDiscoveryList;v=v3;g=apidiscovery.k8s.io',
    'application/json;as=Table',
    'text/html',
    'application/*',
  ])('is refused with 406 if the server has no such form: %s', (accept) => {
    expect(() => negotiate(accept)).toThrow(expect.objectContaining({ code: 'NotAcceptable' }));
    const next = `${accept}, application/json;as=Table;v=v1beta1;g=meta.k8s.io`;
    expect(negotiate(next)).toEqual({ as: 'Table', version: 'v1beta1' });
  });

  describe('in protobuf', () => {
    const protobuf = 'application/vnd.kubernetes.protobuf';
    const metadata = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
    const table = 'as=Table;g=meta.k8s.io;v=v1';

    it('is what the header asks for first, and says whether the client reads JSON too', () => {
      expect(negotiate(`${protobuf},application/json`, 'objects')).toEqual({ ...object, protobuf: { orJson: true } });
      expect(negotiate(`application/json,${protobuf}`, 'objects')).toEqual(object);
      expect(negotiate(protobuf, 'objects')).toEqual({ ...object, protobuf: { orJson: false } });
      expect(negotiate(`${protobuf};stream=watch`, 'objects')).toEqual({ ...object, protobuf: { orJson: false } });
    });

    it('only metadata of custom resources go out, and no table of any kind', () => {
      expect(negotiate(`${protobuf},application/json`, 'metadata')).toEqual(object);
      expect(() => negotiate(protobuf, 'metadata')).toThrow(expect.objectContaining({ code: 'NotAcceptable' }));
      const asked = negotiate(`${protobuf};${metadata}`, 'metadata');
      expect(asked).toEqual({ as: 'PartialObjectMetadata', version: 'v1', protobuf: { orJson: false } });
      const refused = expect.objectContaining({ code: 'NotAcceptable' });
      expect(() => negotiate(`${protobuf};${table}`, 'objects')).toThrow(refused);
    });

    it.each([
      [protobuf, 'protobuf'],
      [`${protobuf},application/json`, 'protobuf'],
      [`application/json;${table},${protobuf}`, 'protobuf'],
      [`application/json,${protobuf}`, 'json'],
      [`${protobuf};${metadata}`, 'json'],
      ['application/yaml, application/json', 'yaml'],
      ['application/json, application/yaml', 'json'],
      ['', 'json'],
    ])('a Status for %s goes out in %s', (accept, encoding) => {
      expect(preferredEncoding(accept)).toBe(encoding);
    });
  });

  it('application/yaml asks for YAML, if no clause that the server supports is before it', () => {
    expect(negotiate('application/yaml')).toEqual({ as: 'object', yaml: true });
    expect(negotiate('text/html, application/yaml;as=Table;g=meta.k8s.io;v=v1, application/json')).toEqual({
      as: 'Table',
      version: 'v1',
      yaml: true,
    });
    expect(negotiate('application/json, application/yaml')).toEqual(object);
  });

  it('may have spaces around its parts', () => {
    expect(negotiate('application/json; as=Table; g=meta.k8s.io; v=v1 , */*')).toEqual({ as: 'Table', version: 'v1' });
  });
});
