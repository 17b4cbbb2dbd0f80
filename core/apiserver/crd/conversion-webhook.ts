/** Checks the conversion webhook of a definition, so that the API servers of the edge clusters accept the definition. */
import { invalidField, required } from '../../object/field-error.ts';
import type { Cause } from '../../runtime/errors.ts';
import type { ConversionWebhook } from './definition.ts';

/** The versions of ConversionReview that API servers can send. */
const reviewVersions = ['v1', 'v1beta1'];

export function checkConversionWebhook(webhook: ConversionWebhook | undefined): Cause[] {
  const at = 'spec.conversion.webhook';
  if (!webhook) return [required(at, 'required when strategy is set to Webhook')];
  const { clientConfig, conversionReviewVersions: versions = [] } = webhook;
  const causes: Cause[] = [];
  if (!clientConfig) causes.push(required(`${at}.clientConfig`, 'required when strategy is set to Webhook'));
  else causes.push(...checkClientConfig(clientConfig, `${at}.clientConfig`));
  if (versions.length === 0) causes.push(required(`${at}.conversionReviewVersions`));
  else if (!versions.some((version) => reviewVersions.includes(version))) {
    const why = `must include at least one of ${reviewVersions.join(', ')}`;
    causes.push(invalidField(`${at}.conversionReviewVersions`, versions, why));
  }
  return causes;
}

function checkClientConfig({ url, service }: NonNullable<ConversionWebhook['clientConfig']>, at: string): Cause[] {
  if ((url === undefined) === (service === undefined)) {
    return [required(at, 'exactly one of url or service is required')];
  }
  if (url !== undefined) return checkUrl(url, `${at}.url`);
  const { name, namespace, path, port } = service!;
  const causes: Cause[] = [];
  if (!name) causes.push(required(`${at}.service.name`, 'service name is required'));
  if (!namespace) causes.push(required(`${at}.service.namespace`, 'service namespace is required'));
  if (path !== undefined && !path.startsWith('/')) {
    causes.push(invalidField(`${at}.service.path`, path, "must start with a '/'"));
  }
  if (port !== undefined && (port < 1 || port > 65_535)) {
    causes.push(invalidField(`${at}.service.port`, port, 'must be between 1 and 65535, inclusive'));
  }
  return causes;
}

function checkUrl(text: string, at: string): Cause[] {
  const url = URL.parse(text);
  if (!url) return [invalidField(at, text, 'url must be a valid URL; desired format: https://host[/path]')];
  const wrong =
    url.protocol !== 'https:'
      ? `'https' is the only allowed URL scheme`
      : url.username !== '' || url.password !== ''
        ? 'user information is not permitted in the URL'
        : url.search !== '' || url.hash !== ''
          ? 'query parameters and fragments are not permitted in the URL'
          : undefined;
  return wrong === undefined ? [] : [invalidField(at, text, `${wrong}; desired format: https://host[/path]`)];
}
