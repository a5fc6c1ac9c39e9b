//! What holds for every page: on a desktop and a phone, light and dark, all of it can be read.

use std::path::Path;

use crate::browser::Tab;

pub(crate) const DESKTOP: (u32, u32) = (1024, 768);
pub(crate) const PHONE: (u32, u32) = (390, 700);
const VIEWS: [(&str, (u32, u32)); 4] =
    [("light", DESKTOP), ("dark", DESKTOP), ("light", PHONE), ("dark", PHONE)];
/// The least contrast of text, by WCAG 2.
const MIN_CONTRAST: f64 = 4.5;

/// Checks the contrast of every text, and that nothing lies beside the window.
pub(crate) fn assert_readable(tab: &mut Tab<'_>, what: &str) {
    for (scheme, size) in VIEWS {
        tab.show_as(scheme, size);
        assert!(!is_too_wide(tab), "{what} in {size:?}");
        let (contrast, text) = lowest_contrast(tab);
        assert!(contrast >= MIN_CONTRAST, "{what} {scheme} {size:?}: {contrast} for {text:?}");
    }
}

/// Draws a page as every device and scheme shows it, into `target/pictures`, to be looked at.
pub(crate) fn save_views(tab: &mut Tab<'_>, name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/pictures");
    for (scheme, size) in VIEWS {
        tab.show_as(scheme, size);
        let device = if size == PHONE { "phone" } else { "desktop" };
        tab.save_picture(&folder.join(format!("{name}-{device}-{scheme}.png")));
    }
}

/// The smallest contrast between a text and what is behind it, with that text.
fn lowest_contrast(tab: &mut Tab<'_>) -> (f64, String) {
    let script = r"(() => {
        const rgb = (text) => (text.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
        const light = (c) => {
            const [r, g, b] = c.slice(0, 3).map((v) => {
                const s = v / 255;
                return s <= .03928 ? s / 12.92 : ((s + .055) / 1.055) ** 2.4;
            });
            return .2126 * r + .7152 * g + .0722 * b;
        };
        const behind = (element) => {
            for (let e = element; e; e = e.parentElement) {
                const c = rgb(getComputedStyle(e).backgroundColor);
                if (c.length < 4 || c[3] === 1) return c;
            }
            return [255, 255, 255];
        };
        let lowest = [21, ''];
        for (const element of document.querySelectorAll('main *')) {
            const own = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join('');
            if (!own.trim() || !element.checkVisibility()) continue;
            const [a, b] = [rgb(getComputedStyle(element).color), behind(element)].map(light);
            const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
            if (ratio < lowest[0]) lowest = [ratio, own];
        }
        return lowest;
    })()";
    let found = tab.evaluate(script);
    (found[0].as_f64().unwrap(), found[1].as_str().unwrap().to_owned())
}

/// Whether the page scrolls to the side.
pub(crate) fn is_too_wide(tab: &mut Tab<'_>) -> bool {
    tab.evaluate("document.documentElement.scrollWidth > innerWidth") == true
}
