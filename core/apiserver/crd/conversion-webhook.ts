/**
 * Checks how a definition converts between its versions. Only the API servers of the edge clusters call a webhook, so the checks are theirs. Their messages name
 * the fields of the webhook as their code does: `webhookClientConfig` and `conversionReviewVersions`, both directly in `spec.conversion`.
 */
import { subdomainMistakes } from '../../match/cel/library/formats.ts';
import { parse } from '../../match/cel/library/url.ts';
import { forbiddenField, invalidField, notSupported, required } from '../../object/field-error.ts';
import { type Cause, describeError } from '../../runtime/errors.ts';
import type { ConversionWebhook, DefinitionSpec } from './definition.ts';
import { checkLabel } from './definition-names.ts';

const field = 'spec.conversion';
const config = `${field}.webhookClientConfig`;
const reviews = `${field}.conversionReviewVersions`;
/** The versions of ConversionReview that API servers can send. */
const reviewVersions = ['v1', 'v1beta1'];

export function checkConversion(conversion: NonNullable<DefinitionSpec['conversion']>, needsBundle: boolean): Cause[] {
  const { strategy, webhook } = conversion;
  const { clientConfig, conversionReviewVersions = [] } = webhook ?? {};
  if (strategy === 'Webhook') {
    return [
      ...(clientConfig
        ? checkClientConfig(clientConfig, needsBundle)
        : [required(config, 'required when strategy is set to Webhook')]),
      ...checkReviewVersions(conversionReviewVersions),
    ];
  }
  const why = 'should not be set when strategy is not set to Webhook';
  return [
    ...checkStrategy(strategy),
    ...(clientConfig ? [forbiddenField(config, why)] : []),
    ...(conversionReviewVersions.length > 0 ? [forbiddenField(reviews, why)] : []),
  ];
}

function checkStrategy(strategy: string | undefined): Cause[] {
  if (!strategy) return [required(`${field}.strategy`)];
  return strategy === 'None' ? [] : [notSupported(`${field}.strategy`, strategy, ['None', 'Webhook'])];
}

function checkReviewVersions(versions: readonly string[]): Cause[] {
  if (versions.length === 0) return [required(reviews)];
  const causes = versions.flatMap((version, index) =>
    versions.indexOf(version) < index
      ? [invalidField(`${reviews}[${index}]`, version, 'duplicate version')]
      : checkLabel(version, `${reviews}[${index}]`),
  );
  if (versions.some((version) => reviewVersions.includes(version))) return causes;
  return [...causes, invalidField(reviews, versions, `must include at least one of ${reviewVersions.join(', ')}`)];
}

type ClientConfig = NonNullable<ConversionWebhook['clientConfig']>;

function checkClientConfig({ url, service, caBundle }: ClientConfig, needsBundle: boolean): Cause[] {
  const isOne = (url === undefined) !== (service === undefined);
  return [
    ...(isOne ? [] : [required(config, 'exactly one of url or service is required')]),
    ...(isOne && url !== undefined ? checkUrl(url, `${config}.url`) : []),
    ...(isOne && service ? checkService(service, `${config}.service`) : []),
    ...(needsBundle && caBundle && !isBundle(caBundle)
      ? [
          invalidField(
            `${config}.caBundle`,
            caBundle,
            'unable to load root certificates: unable to parse bytes as PEM block',
          ),
        ]
      : []),
  ];
}

/** True for certificates in PEM, in base64. */
export function isBundle(bundle: string): boolean {
  return /-----BEGIN [A-Z ]+-----/.test(Buffer.from(bundle, 'base64').toString('latin1'));
}

function checkService({ name, namespace, path, port }: NonNullable<ClientConfig['service']>, at: string): Cause[] {
  return [
    // The Kubernetes API server exchanges the two fields.
    ...(namespace ? [] : [required(`${at}.name`)]),
    ...(name ? [] : [required(`${at}.namespace`)]),
    ...(port === undefined || (port >= 1 && port <= 65_535)
      ? []
      : [invalidField(`${at}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive')]),
    ...(path ? checkPath(path, `${at}.path`) : []),
  ];
}

function checkPath(path: string, at: string): Cause[] {
  if (path === '/') return [];
  const steps = path === '//' ? [''] : path.slice(1).replace(/\/$/, '').split('/');
  return [
    ...(path.startsWith('/') ? [] : [invalidField(at, path, "must start with a '/'")]),
    ...steps.flatMap((step, index) =>
      step === ''
        ? [invalidField(at, path, `segment[${index}] may not be empty`)]
        : subdomainMistakes(step).map((mistake) => invalidField(at, path, `segment[${index}]: ${mistake}`)),
    ),
  ];
}

/** Scheme, authority, path, query and fragment, as in RFC 3986. A parser for browsers would correct wrong URLs instead of refusing them. */
const urlParts = /^(?:([a-z][a-z\d+.-]*):)?(?:\/\/([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/is;

function checkUrl(url: string, at: string): Cause[] {
  const form = '; desired format: https://host[/path]';
  const wrong = syntaxMistake(url);
  if (wrong) return [required(at, `url must be a valid URL: parse ${JSON.stringify(url)}: ${wrong}${form}`)];
  const [, scheme = '', authority = '', query, fragment] = urlParts.exec(url) ?? [];
  const split = authority.lastIndexOf('@');
  const host = authority.slice(split + 1);
  return [
    ...(scheme.toLowerCase() === 'https'
      ? []
      : [invalidField(at, scheme, `'https' is the only allowed URL scheme${form}`)]),
    ...(host ? [] : [invalidField(at, host, `host must be specified${form}`)]),
    ...(split < 0 ? [] : [invalidField(at, authority.slice(0, split), 'user information is not permitted in the URL')]),
    ...(fragment ? [invalidField(at, fragment, 'fragments are not permitted in the URL')] : []),
    ...(query ? [invalidField(at, query, 'query parameters are not permitted in the URL')] : []),
  ];
}

/** Undefined: Go's package net/url reads the URL. A path without a scheme is a URL there too. */
function syntaxMistake(url: string): string | undefined {
  const [text = ''] = url.split('#');
  try {
    parse(text);
    return undefined;
  } catch (error) {
    const quoted = JSON.stringify(text);
    const message = describeError(error);
    const why = message.slice(message.lastIndexOf(quoted) + quoted.length + 2);
    if (why === 'invalid URI for request') {
      return /^[^/?]*:/.test(text) ? 'first path segment in URL cannot contain colon' : undefined;
    }
    return why === 'empty url' ? undefined : why;
  }
}
