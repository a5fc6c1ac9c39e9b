//! Parses URLs as the web does, and changes their parts.

use serde_json::{Value, json};
use url::{Url, quirks};

use super::OpError;
use crate::runtime::HostState;

/// The parts of `input`, resolved against `base` if there is one.
pub fn parse_url(_: &HostState, args: Value) -> Result<Value, OpError> {
    let input = args["input"].as_str().unwrap_or_default();
    let base = args["base"].as_str().map(Url::parse).transpose();
    let read = base.and_then(|base| Url::options().base_url(base.as_ref()).parse(input));
    read.map(|url| url_parts(&url)).map_err(|_| invalid_url())
}

/// The parts of `href` after a change of one part. An invalid change is ignored, as on the web.
pub fn set_url_part(_: &HostState, args: Value) -> Result<Value, OpError> {
    let mut url =
        Url::parse(args["href"].as_str().unwrap_or_default()).map_err(|_| invalid_url())?;

    let value = args["value"].as_str().unwrap_or_default();
    let _ = match args["part"].as_str().unwrap_or_default() {
        "href" => quirks::set_href(&mut url, value).map_err(|_| invalid_url()).map(Ok)?,
        "protocol" => quirks::set_protocol(&mut url, value),
        "username" => quirks::set_username(&mut url, value),
        "password" => quirks::set_password(&mut url, value),
        "host" => quirks::set_host(&mut url, value),
        "hostname" => quirks::set_hostname(&mut url, value),
        "port" => quirks::set_port(&mut url, value),
        "pathname" => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
        _ => Ok(()),
    };

    Ok(url_parts(&url))
}

fn invalid_url() -> OpError {
    OpError::new("Invalid URL").with_code("ERR_INVALID_URL")
}

fn url_parts(url: &Url) -> Value {
    json!({
        "href": quirks::href(url),
        "origin": quirks::origin(url),
        "protocol": quirks::protocol(url),
        "username": quirks::username(url),
        "password": quirks::password(url),
        "host": quirks::host(url),
        "hostname": quirks::hostname(url),
        "port": quirks::port(url),
        "pathname": quirks::pathname(url),
        "search": quirks::search(url),
        "hash": quirks::hash(url),
    })
}
